import type { ComponentChildren } from 'preact'
import { useSecretEnd } from '../app-context.ts'
import { CodeBlock } from './copy.tsx'
import { Dialog } from './dialog.tsx'

type ShownOnceProps = {
  readonly title: string
  readonly what: string
  readonly text: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function ShownOnce({ title, what, text, onClose, children }: ShownOnceProps) {
  useSecretEnd(onClose)
  return (
    <Dialog title={title} onClose={onClose} isFirm>
      <p>{children}</p>
      <CodeBlock text={text} what={what} />
      <footer>
        <button type="button" class="main" onClick={onClose}>
          I have saved it
        </button>
      </footer>
    </Dialog>
  )
}
