import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CatalogueOutcome } from '../../../../src/admin/catalogue.ts'
import { Dialog, SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { useMutation } from '../../use-mutation.ts'
import { CatalogueDiff } from './catalogue-diff.tsx'

export type ChangeDialogProps = { readonly onClose: () => void; readonly onDone: () => void }

type ActivateProps = ChangeDialogProps & {
  readonly title: string
  readonly preview: CatalogueOutcome
  readonly apply: (isForced: boolean) => Promise<CatalogueOutcome>
}

/** Force is sent only after the doubts were shown. */
export function ActivateDialog({ title, preview, apply, onClose, onDone }: ActivateProps) {
  const [done, setDone] = useState<CatalogueOutcome>()
  const { doubts, changes } = preview
  const hasDoubts = doubts.length > 0
  const mutation = useMutation(async () => {
    setDone(await apply(hasDoubts))
    onDone()
  })
  if (done)
    return (
      <Dialog title={title} onClose={onClose}>
        <p class="note good" role="status">
          {done.outcome === 'unchanged'
            ? 'The lists are identical. Nothing was changed.'
            : `Version ${done.version} is active.`}
        </p>
        <Footer onClose={onClose} label="Close" />
      </Dialog>
    )
  return (
    <Dialog title={title} onClose={onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          mutation.run()
        }}
      >
        {hasDoubts && <Doubts doubts={doubts} />}
        <CatalogueDiff changes={changes} />
        <ErrorNote error={mutation.error} />
        <Footer onClose={onClose} label={changes.length > 0 || hasDoubts ? 'Cancel' : 'Close'}>
          {(changes.length > 0 || hasDoubts) && (
            <SubmitButton isBusy={mutation.isBusy} isDanger={hasDoubts}>
              {hasDoubts ? 'Activate anyway' : 'Activate'}
            </SubmitButton>
          )}
        </Footer>
      </form>
    </Dialog>
  )
}

function Doubts({ doubts }: { doubts: readonly string[] }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <div class="note warn" ref={box} tabIndex={-1}>
      <p>
        <b>These lists failed the plausibility check</b>
      </p>
      <ul>
        {doubts.map((doubt) => (
          <li key={doubt}>{doubt}</li>
        ))}
      </ul>
    </div>
  )
}

function Footer({
  onClose,
  label,
  children,
}: {
  onClose: () => void
  label: string
  children?: ComponentChildren
}) {
  return (
    <footer>
      <button type="button" class="plain" onClick={onClose}>
        {label}
      </button>
      {children}
    </footer>
  )
}
