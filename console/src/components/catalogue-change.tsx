import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { CatalogueOutcome } from '../../../src/admin/shapes/catalogue.ts'
import { ApiError } from '../api-client.ts'
import { useAppContext } from '../app-context.ts'
import { useMutation } from '../use-mutation.ts'
import { Changes } from './catalogue-diff.tsx'
import { Dialog, SubmitButton } from './dialog.tsx'
import { ErrorNote, Loading } from './states.tsx'

type DialogProps = { readonly onClose: () => void; readonly onDone: () => void }

/** What would change is shown first; only then can it be put in force. */
export function ImportDialog({ onClose, onDone }: DialogProps) {
  const { api } = useAppContext()
  const [text, setText] = useState('')
  const [looked, setLooked] = useState<CatalogueOutcome>()
  const send = (isDry: boolean, isForced: boolean) =>
    api.post<CatalogueOutcome>('/admin/catalogue/import', {
      content: readJson(text),
      dry_run: isDry,
      force: isForced,
    })
  const look = useMutation(async () => setLooked(await send(true, false)))
  if (looked)
    return (
      <Decide
        title="Import"
        looked={looked}
        onClose={onClose}
        onDone={onDone}
        apply={(isForced) => send(false, isForced)}
      />
    )
  return (
    <Dialog title="Import lists" onClose={onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          look.run()
        }}
      >
        <p class="dim">What the export writes, or one list of it. Nothing changes yet.</p>
        <Content text={text} onText={setText} />
        <ErrorNote error={look.error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>
            Cancel
          </button>
          <SubmitButton isBusy={look.isBusy} isDisabled={text.trim() === ''}>
            Show what would change
          </SubmitButton>
        </footer>
      </form>
    </Dialog>
  )
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError(0, 'not_json', 'This is not JSON. Nothing was sent.')
  }
}

function Content({ text, onText }: { text: string; onText: (text: string) => void }) {
  const id = useId()
  return (
    <>
      <div class="field">
        <label for={`${id}-file`}>File</label>
        <input
          id={`${id}-file`}
          type="file"
          accept="application/json,.json"
          onChange={async (event) => {
            const file = event.currentTarget.files?.[0]
            if (file) onText(await file.text())
          }}
        />
      </div>
      <div class="field">
        <label for={`${id}-text`}>Or paste it</label>
        <textarea
          id={`${id}-text`}
          rows={8}
          spellcheck={false}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </div>
    </>
  )
}

export function SyncDialog({ source, onClose, onDone }: DialogProps & { source: string }) {
  const { api } = useAppContext()
  const [looked, setLooked] = useState<CatalogueOutcome>()
  const send = (isDry: boolean, isForced: boolean) =>
    api.post<CatalogueOutcome>('/admin/catalogue/sync', { source, dry_run: isDry, force: isForced })
  const look = useMutation(async () => setLooked(await send(true, false)))
  const { run } = look
  useEffect(() => {
    run()
  }, [run])
  if (looked)
    return (
      <Decide
        title={`Sync from ${source}`}
        looked={looked}
        onClose={onClose}
        onDone={onDone}
        apply={(isForced) => send(false, isForced)}
      />
    )
  return (
    <Dialog title={`Sync from ${source}`} onClose={onClose} isWide>
      <p>Asking {source} what its lists are now. Nothing changes yet.</p>
      {look.isBusy && <Loading />}
      <ErrorNote error={look.error} />
    </Dialog>
  )
}

type DecideProps = DialogProps & {
  readonly title: string
  readonly looked: CatalogueOutcome
  readonly apply: (isForced: boolean) => Promise<CatalogueOutcome>
}

/** Doubts are put aside by whoever has read them, never from the start. */
function Decide({ title, looked, apply, onClose, onDone }: DecideProps) {
  const [done, setDone] = useState<CatalogueOutcome>()
  const { doubts, changes } = looked
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
            ? 'Nothing was different; nothing has changed.'
            : `Version ${done.version} is in force.`}
        </p>
        <Footer onClose={onClose} word="Close" />
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
        <Changes changes={changes} />
        <ErrorNote error={mutation.error} />
        <Footer onClose={onClose} word={changes.length > 0 || hasDoubts ? 'Cancel' : 'Close'}>
          {(changes.length > 0 || hasDoubts) && (
            <SubmitButton isBusy={mutation.isBusy} isDanger={hasDoubts}>
              {hasDoubts ? 'Put in force all the same' : 'Put in force'}
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
        <b>Look at this first</b>
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
  word,
  children,
}: {
  onClose: () => void
  word: string
  children?: ComponentChildren
}) {
  return (
    <footer>
      <button type="button" class="plain" onClick={onClose}>
        {word}
      </button>
      {children}
    </footer>
  )
}
