import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { commonTexts as texts } from '../texts/en/common.ts'
import { fill } from '../texts/fill.ts'
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
            <button type="button" class="plain small" aria-label={texts.close} onClick={onClose}>
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

export function Confirm({ title, verb, mutation, onClose, typed, isDanger = false, children }: ConfirmProps) {
  const [text, setText] = useState('')
  const isReady = typed === undefined || text.trim() === typed.trim()
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) mutation.run()
        }}
      >
        {children}
        {typed !== undefined && (
          <label>
            <span>{fill(texts.typeToConfirm, { text: <b class="breaks">{typed}</b> })}</span>
            <input
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              autocomplete="off"
              spellcheck={false}
            />
          </label>
        )}
        <ErrorNote error={mutation.error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>
            {texts.cancel}
          </button>
          <SubmitButton isBusy={mutation.isBusy} isDisabled={!isReady} isDanger={isDanger}>
            {verb}
          </SubmitButton>
        </footer>
      </form>
    </Dialog>
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
