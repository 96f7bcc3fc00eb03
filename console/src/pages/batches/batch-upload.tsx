import { useState } from 'preact/hooks'
import type { UploadResult } from '../../../../src/admin/batches.ts'
import { ApiError } from '../../api-client.ts'
import { useAppContext } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SecretField } from '../../components/field.tsx'
import { FileField } from '../../components/file-field.tsx'
import { Panel } from '../../components/panel.tsx'
import { toCount } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'

type KeyProps = {
  readonly apiKey: string
  readonly onKey: (key: string) => void
  readonly hasSandbox: boolean
}

export const BatchKeyField = ({ label, apiKey, onKey, hasSandbox }: KeyProps & { label: string }) => (
  <SecretField
    label={label}
    value={apiKey}
    onValue={onKey}
    placeholder={hasSandbox ? 'the public sandbox key' : 'tbt_…'}
    help={hasSandbox ? 'Leave it empty for the public sandbox key.' : undefined}
  />
)

type Refusal = { readonly line: number; readonly field: string | null; readonly message: string }
type Accepted = { readonly rows: number; readonly refusals: readonly Refusal[] }

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/x-ndjson',
  json: 'application/json',
}
const MOST_SHOWN = 20

export function BatchUpload({ apiKey, onKey, hasSandbox, onDone }: KeyProps & { onDone: () => void }) {
  const { api } = useAppContext()
  const [file, setFile] = useState<File>()
  const [accepted, setAccepted] = useState<Accepted>()
  const upload = useMutation(async () => {
    setAccepted(undefined)
    if (!file) return
    const type = TYPES[file.name.split('../../components').at(-1)?.toLowerCase() ?? '']
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
          help="CSV with a header, NDJSON or a JSON array. Columns: operation (verify_nin or verify_bvn), nin or bvn, phone, amount, reference. Up to 50 000 rows."
          accept=".csv,.ndjson,.jsonl,.json"
          onFile={setFile}
        />
        <BatchKeyField label="Key" apiKey={apiKey} onKey={onKey} hasSandbox={hasSandbox} />
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
        {refusals.slice(0, MOST_SHOWN).map(({ line, field, message }) => (
          <li key={`${line} ${field}`}>
            Line {line}: {message}
          </li>
        ))}
      </ul>
      {refusals.length > MOST_SHOWN && <p>The results name the others.</p>}
    </div>
  )
}
