import { useState } from 'preact/hooks'
import type { UploadResult } from '../../../src/admin/shapes/batches.ts'
import { ApiError } from '../api-client.ts'
import { useAppContext } from '../app-context.ts'
import { toCount } from '../format.ts'
import { batchesTexts as texts } from '../texts/en/batches.ts'
import { fill } from '../texts/fill.ts'
import { useMutation } from '../use-mutation.ts'
import { SubmitButton } from './dialog.tsx'
import { ErrorNote } from './error-note.tsx'
import { SecretField } from './field.tsx'
import { FileField } from './file-field.tsx'
import { Panel } from './panel.tsx'

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
    placeholder={hasSandbox ? texts.keyPlaceholder : 'tbt_…'}
    help={hasSandbox ? texts.keyHelp : undefined}
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
    const type = TYPES[file.name.split('.').at(-1)?.toLowerCase() ?? '']
    if (!type) throw new ApiError(0, 'type', texts.wrongType)
    const result = await api.upload<UploadResult>('/admin/batches', file, { type, key: apiKey.trim() })
    setAccepted(readAccepted(result))
    onDone()
  })
  return (
    <Panel title={texts.sendFile}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          upload.run()
        }}
      >
        <FileField
          label={texts.file}
          help={texts.fileHelp}
          accept=".csv,.ndjson,.jsonl,.json"
          onFile={setFile}
        />
        <BatchKeyField label={texts.key} apiKey={apiKey} onKey={onKey} hasSandbox={hasSandbox} />
        <SubmitButton isBusy={upload.isBusy} isDisabled={!file || (apiKey.trim() === '' && !hasSandbox)}>
          {texts.send}
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
  throw new ApiError(status, answer.code ?? 'refused', detail ?? answer.message ?? texts.refused)
}

function Refusals({ rows, refusals }: Accepted) {
  if (refusals.length === 0)
    return (
      <p class="note good" role="status">
        {fill(texts.accepted, { rows: toCount(rows) })}
      </p>
    )
  return (
    <div class="note warn" role="status">
      <p>{texts.someRefused}</p>
      <ul>
        {refusals.slice(0, MOST_SHOWN).map(({ line, field, message }) => (
          <li key={`${line} ${field}`}>{fill(texts.line, { line, message })}</li>
        ))}
      </ul>
      {refusals.length > MOST_SHOWN && <p>{texts.moreRefused}</p>}
    </div>
  )
}
