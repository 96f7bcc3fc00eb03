import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Mutation } from '../use-mutation.ts'
import { ErrorNote } from './error-note.tsx'

type DialogProps = {
  readonly title: string
  readonly onClose: () => void
  /** Escape does not close it, because its content is shown once. */
  readonly isFirm?: boolean
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

/** A modal dialog, open while it is rendered. Returns the focus when it closes. */
export function Dialog({ title, onClose, isFirm = false, isWide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Before painting, because Escape may be pressed at once.
  useLayoutEffect(() => {
    const { current } = dialog
    const before = document.activeElement
    current?.showModal()
    current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
    return () => {
      current?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!isFirm) onClose()
      }}
      onKeyDown={(event) => {
        // Browsers close a dialog on the second Escape, even if the first was prevented.
        if (isFirm && event.key === 'Escape') event.preventDefault()
      }}
    >
      <article class={isWide ? 'wide' : ''}>
        <header>
          <h2 id={id}>{title}</h2>
          {!isFirm && (
            <button type="button" class="plain small" aria-label="Close" onClick={onClose}>
              <svg viewBox="0 0 16 16" aria-hidden="true">
                <path d="M4 4l8 8M12 4l-8 8" />
              </svg>
            </button>
          )}
        </header>
        {children}
      </article>
    </dialog>
  )
}

type FormDialogProps = {
  readonly title: string
  readonly verb: string
  readonly mutation: Pick<Mutation<[]>, 'isBusy' | 'error'>
  readonly onSubmit: () => void
  readonly onClose: () => void
  readonly isReady?: boolean
  readonly isDanger?: boolean
  readonly isWide?: boolean
  /** A further button, before Cancel. */
  readonly aside?: ComponentChildren
  readonly children: ComponentChildren
}

/** A dialog with a form: its error, a button to cancel and one to submit. */
export function FormDialog({ title, verb, mutation, onSubmit, onClose, ...options }: FormDialogProps) {
  const { isReady = true, isDanger = false, isWide = false, aside, children } = options
  return (
    <Dialog title={title} onClose={onClose} isWide={isWide}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) onSubmit()
        }}
      >
        {children}
        <ErrorNote error={mutation.error} />
        <footer>
          {aside}
          <button type="button" class="plain" onClick={onClose}>
            Cancel
          </button>
          <SubmitButton isBusy={mutation.isBusy} isDisabled={!isReady} isDanger={isDanger}>
            {verb}
          </SubmitButton>
        </footer>
      </form>
    </Dialog>
  )
}

type ConfirmProps = {
  readonly title: string
  readonly verb: string
  readonly mutation: Mutation<[]>
  readonly onClose: () => void
  /** The text that must be typed to confirm. */
  readonly typed?: string
  readonly isDanger?: boolean
  readonly children: ComponentChildren
}

export function Confirm({ mutation, typed, children, ...rest }: ConfirmProps) {
  const [text, setText] = useState('')
  const isReady = typed === undefined || text.trim() === typed.trim()
  return (
    <FormDialog {...rest} mutation={mutation} onSubmit={() => mutation.run()} isReady={isReady}>
      {children}
      {typed !== undefined && (
        <label>
          <span>
            Type <b class="breaks">{typed}</b> to confirm
          </span>
          <input
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      )}
    </FormDialog>
  )
}

type SubmitButtonProps = {
  readonly isBusy: boolean
  readonly isDisabled?: boolean
  readonly isDanger?: boolean
  readonly children: ComponentChildren
}

/** Submits its form. Disabled while busy. */
export function SubmitButton({ isBusy, isDisabled = false, isDanger = false, children }: SubmitButtonProps) {
  return (
    <button
      type="submit"
      class={isDanger ? 'danger' : 'main'}
      disabled={isBusy || isDisabled}
      aria-busy={isBusy}
    >
      {children}
    </button>
  )
}
