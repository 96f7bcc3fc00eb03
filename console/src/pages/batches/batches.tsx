import { useState } from 'preact/hooks'
import type { BatchList, ListedBatch, UploadResult } from '../../../../src/admin/batches.ts'
import { ApiError } from '../../api-client.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { ApiKeyField, type ApiKeyProps } from '../../components/api-key-field.tsx'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { FileField } from '../../components/file-field.tsx'
import { lazy } from '../../components/lazy.tsx'
import { KeyLink } from '../../components/object-page.tsx'
import { OlderPages } from '../../components/older-pages.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery, useReloads } from '../../use-query.ts'
import { BatchActions, BatchDialogs, BatchState, Done, isOpen, type OpenBatch } from './batch-dialogs.tsx'

const RELOAD_MS = 2000

const BatchPage = lazy(async () => (await import('./batch-page.tsx')).BatchPage)

export function Batches({ rest }: { rest: string }) {
  return rest === '' ? <BatchLists /> : <BatchPage key={rest} id={rest} />
}

function BatchLists() {
  const [before, setBefore] = useState<string>()
  const query = useQuery<BatchList>(
    before === undefined ? '/admin/batches' : `/admin/batches?before=${encodeURIComponent(before)}`,
  )
  const isOperator = useHasRole('operator')
  const [open, setOpen] = useState<OpenBatch>()
  const [key, setKey] = useState('')
  const isRunning = query.value?.batches.some(isOpen) ?? false
  const { reload } = query
  useReloads(query, RELOAD_MS, isRunning)
  const close = () => setOpen(undefined)
  const done = () => {
    close()
    reload()
  }
  return (
    <QueryResult query={query}>
      {({ batches, next, has_sandbox_key: hasSandbox }) => (
        <>
          {isOperator ? (
            <BatchUpload apiKey={key} onKey={setKey} hasSandbox={hasSandbox} onDone={reload} />
          ) : (
            <p class="dim">Your role shows only the counts. Sending a file needs the role operator.</p>
          )}
          <Panel title="Latest batches">
            {batches.length === 0 ? (
              <Empty>
                <p>There are no batches.</p>
              </Empty>
            ) : (
              <Table
                label="Latest batches"
                exportUrl="/admin/batches/export.csv"
                columns={toColumns(isOperator, setOpen)}
                rows={batches}
                keyOf={({ id }) => id}
              />
            )}
            <OlderPages before={before} next={next} onPage={setBefore} />
          </Panel>
          {open && (
            <BatchDialogs
              open={open}
              onClose={close}
              onDone={done}
              keys={{ apiKey: key, onKey: setKey, hasSandbox }}
            />
          )}
        </>
      )}
    </QueryResult>
  )
}

const toColumns = (isOperator: boolean, onOpen: (open: OpenBatch) => void): Column<ListedBatch>[] => [
  {
    title: 'Batch',
    cell: ({ id }) => (
      <a href={toHash('batches', id)}>
        <code class="clip">{id}</code>
      </a>
    ),
  },
  { title: 'Sent', cell: ({ accepted_at }) => <When at={accepted_at} to="second" /> },
  { title: 'Key', cell: ({ key_id }) => <KeyLink id={key_id} /> },
  { title: 'Mode', cell: ({ mode }) => mode },
  { title: 'State', cell: ({ state }) => <BatchState state={state} /> },
  { title: 'Done', cell: (batch) => <Done batch={batch} /> },
  { title: 'Verified', isNumber: true, cell: ({ counts }) => toCount(counts.verified) },
  { title: 'Not verified', isNumber: true, cell: ({ counts }) => toCount(counts.not_verified) },
  {
    title: 'Other',
    isNumber: true,
    cell: ({ counts: { failed, expired, cancelled, refused } }) =>
      toCount(failed + expired + cancelled + refused),
  },
  { title: 'End', cell: ({ ended_at, estimated_end }) => <When at={ended_at ?? estimated_end} /> },
  ...(isOperator
    ? [{ title: '', cell: (batch: ListedBatch) => <BatchActions {...{ batch, onOpen }} /> }]
    : []),
]

type Refusal = { readonly line: number; readonly field: string | null; readonly message: string }
type Accepted = { readonly rows: number; readonly refusals: readonly Refusal[] }

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/x-ndjson',
  json: 'application/json',
}
const MAX_SHOWN = 20

function BatchUpload({ apiKey, onKey, hasSandbox, onDone }: ApiKeyProps & { onDone: () => void }) {
  const { api } = useAppContext()
  const [file, setFile] = useState<File>()
  const [accepted, setAccepted] = useState<Accepted>()
  const upload = useMutation(async () => {
    setAccepted(undefined)
    if (!file) return
    const type = TYPES[file.name.split('.').at(-1)?.toLowerCase() ?? '']
    if (!type)
      throw new ApiError(0, 'type', 'The name of the file must end in .csv, .ndjson, .jsonl or .json.')
    const result = await api.upload<UploadResult>('/admin/batches', file, { type, key: apiKey.trim() })
    setAccepted(readAccepted(result))
    onDone()
  })
  return (
    <Panel title="Send a file">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          upload.run()
        }}
      >
        <FileField
          label="File"
          help="CSV with a header, NDJSON or a JSON array. Columns: operation (verify_nin or verify_bvn), nin or bvn, phone, amount, reference. Up to 50,000 rows."
          accept=".csv,.ndjson,.jsonl,.json"
          onFile={setFile}
        />
        <ApiKeyField label="Key" apiKey={apiKey} onKey={onKey} hasSandbox={hasSandbox} />
        <SubmitButton isBusy={upload.isBusy} isDisabled={!file || (apiKey.trim() === '' && !hasSandbox)}>
          Send
        </SubmitButton>
      </form>
      <ErrorNote error={upload.error} />
      {accepted && <Refusals {...accepted} />}
    </Panel>
  )
}

/** The answer of the public API, or its error. */
function readAccepted({ status, body }: UploadResult): Accepted {
  const answer = body as {
    message?: string
    code?: string
    errors?: Record<string, string[]>
    data?: Accepted
  }
  if (status === 202 && answer.data) return answer.data
  const detail = Object.values(answer.errors ?? {}).flat()[0]
  throw new ApiError(status, answer.code ?? 'refused', detail ?? answer.message ?? 'The file was refused.')
}

function Refusals({ rows, refusals }: Accepted) {
  if (refusals.length === 0)
    return (
      <p class="note good" role="status">
        {toCount(rows)} rows were accepted.
      </p>
    )
  return (
    <div class="note warn" role="status">
      <p>Some rows were refused. The others are being verified.</p>
      <ul>
        {refusals.slice(0, MAX_SHOWN).map(({ line, field, message }) => (
          <li key={`${line} ${field}`}>
            Line {line}: {message}
          </li>
        ))}
      </ul>
      {refusals.length > MAX_SHOWN && <p>The results name the others.</p>}
    </div>
  )
}
