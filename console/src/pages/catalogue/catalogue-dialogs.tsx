import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type {
  CatalogueChange,
  CatalogueOutcome,
  CatalogueView,
  CatalogueDiff as DiffShape,
} from '../../../../src/admin/catalogue.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { ApiError } from '../../api-client.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Dialog, SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { FileField } from '../../components/file-field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill, type Tone } from '../../components/pill.tsx'
import { Loading, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toPrice, toWords } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

/** Shows the changes first; they are activated in a second step. */
export function ImportDialog({ onClose, onDone }: ChangeDialogProps) {
  const { api } = useAppContext()
  const [text, setText] = useState('')
  const [preview, setPreview] = useState<CatalogueOutcome>()
  const send = (isDry: boolean, isForced: boolean) =>
    api.post<CatalogueOutcome>('/admin/catalogue/import', {
      content: readJson(text),
      dry_run: isDry,
      force: isForced,
    })
  const dryRun = useMutation(async () => setPreview(await send(true, false)))
  if (preview)
    return (
      <ActivateDialog
        title="Import"
        preview={preview}
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
          dryRun.run()
        }}
      >
        <p class="dim">A catalogue export, or one list of it. Nothing is changed yet.</p>
        <Content text={text} onText={setText} />
        <ErrorNote error={dryRun.error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>
            Cancel
          </button>
          <SubmitButton isBusy={dryRun.isBusy} isDisabled={text.trim() === ''}>
            Preview changes
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
    throw new ApiError(0, 'not_json', 'This is not valid JSON. Nothing was sent.')
  }
}

function Content({ text, onText }: { text: string; onText: (text: string) => void }) {
  const id = useId()
  return (
    <>
      <FileField
        label="File"
        accept="application/json,.json"
        onFile={async (file) => {
          if (file) onText(await file.text())
        }}
      />
      <div class="field">
        <label for={`${id}-text`}>Or paste JSON</label>
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

export function SyncDialog({ source, onClose, onDone }: ChangeDialogProps & { source: string }) {
  const { api } = useAppContext()
  const [preview, setPreview] = useState<CatalogueOutcome>()
  const send = (isDry: boolean, isForced: boolean) =>
    api.post<CatalogueOutcome>('/admin/catalogue/sync', { source, dry_run: isDry, force: isForced })
  const dryRun = useMutation(async () => setPreview(await send(true, false)))
  const { run } = dryRun
  useEffect(() => {
    run()
  }, [run])
  if (preview)
    return (
      <ActivateDialog
        title={`Sync from ${source}`}
        preview={preview}
        onClose={onClose}
        onDone={onDone}
        apply={(isForced) => send(false, isForced)}
      />
    )
  return (
    <Dialog title={`Sync from ${source}`} onClose={onClose} isWide>
      <p>Fetching the lists of {source}. Nothing is changed yet.</p>
      {dryRun.isBusy && <Loading />}
      <ErrorNote error={dryRun.error} />
    </Dialog>
  )
}

type ChangeDialogProps = { readonly onClose: () => void; readonly onDone: () => void }

type ActivateProps = ChangeDialogProps & {
  readonly title: string
  readonly preview: CatalogueOutcome
  readonly apply: (isForced: boolean) => Promise<CatalogueOutcome>
}

/** Force is sent only after the doubts were shown. */
function ActivateDialog({ title, preview, apply, onClose, onDone }: ActivateProps) {
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
      <DoubtList doubts={doubts} />
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

type Change = Static<typeof CatalogueChange>

const toTone = (change: string): Tone => {
  if (change.startsWith('add')) return 'good'
  return change.startsWith('remov') || change.startsWith('gone') ? 'bad' : 'warn'
}

export function CatalogueDiff({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return <p class="dim">No differences.</p>
  return (
    <Table
      label="Changes"
      file="changes"
      rows={changes}
      keyOf={({ change, list, code, name }) => `${change} ${list} ${code} ${name}`}
      columns={[
        { title: 'Change', cell: ({ change }) => <Pill tone={toTone(change)}>{toWords(change)}</Pill> },
        { title: 'List', cell: ({ list }) => list },
        { title: 'Code', cell: ({ code }) => <code>{code}</code> },
        { title: 'Name', cell: ({ name }) => name },
        { title: 'Before', cell: ({ price_before }) => toPrice(price_before ?? '–'), isNumber: true },
        { title: 'After', cell: ({ price_after }) => toPrice(price_after ?? '–'), isNumber: true },
      ]}
    />
  )
}

type Review = CatalogueView['reviews'][number]
type ReviewsProps = { readonly view: CatalogueView; readonly onChange: () => void }

/** Lists of vendors that failed the plausibility check and need a decision. */
export function CatalogueReviews({ view: { reviews }, onChange }: ReviewsProps) {
  const [open, setOpen] = useState<Review>()
  const isOperator = useHasRole('operator')
  if (reviews.length === 0) return null
  return (
    <Panel title="Waiting for review">
      {reviews.map((review) => (
        <div class="note warn" key={review.id}>
          <p>
            <b>{review.source}</b> sent lists that failed the plausibility check (<When at={review.at} />
            ). The active lists do not change until you decide.
          </p>
          <DoubtList doubts={review.doubts} />
          <button
            type="button"
            class="small"
            aria-label={`Review the lists of ${review.source}`}
            onClick={() => setOpen(review)}
          >
            {isOperator ? 'Review' : 'Show'}
          </button>
        </div>
      ))}
      {open && (
        <ReviewDialog
          review={open}
          onClose={() => setOpen(undefined)}
          onDone={() => {
            setOpen(undefined)
            onChange()
          }}
        />
      )}
    </Panel>
  )
}

const DoubtList = ({ doubts }: { doubts: readonly string[] }) => (
  <ul>
    {doubts.map((doubt) => (
      <li key={doubt}>{doubt}</li>
    ))}
  </ul>
)

type DialogProps = { readonly review: Review; readonly onClose: () => void; readonly onDone: () => void }

function ReviewDialog({ review: { id, source, doubts }, onClose, onDone }: DialogProps) {
  const { api } = useAppContext()
  const isOperator = useHasRole('operator')
  const query = useQuery<Static<typeof DiffShape>>(`/admin/catalogue/review?id=${id}`)
  const send = async (decision: 'accept' | 'reject') => {
    await api.post<CatalogueOutcome>('/admin/catalogue/review', { id, decision })
    onDone()
  }
  const accept = useMutation(() => send('accept'))
  const reject = useMutation(() => send('reject'))
  const isBusy = accept.isBusy || reject.isBusy
  return (
    <Dialog title={`Lists of ${source}`} onClose={onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          accept.run()
        }}
      >
        <DoubtList doubts={doubts} />
        <QueryResult query={query}>{({ changes }) => <CatalogueDiff changes={changes} />}</QueryResult>
        <ErrorNote error={accept.error ?? reject.error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>
            {isOperator ? 'Decide later' : 'Close'}
          </button>
          {isOperator && (
            <button type="button" disabled={isBusy} onClick={() => reject.run()}>
              Reject
            </button>
          )}
          {isOperator && (
            <SubmitButton isBusy={isBusy} isDanger>
              Activate anyway
            </SubmitButton>
          )}
        </footer>
      </form>
    </Dialog>
  )
}
