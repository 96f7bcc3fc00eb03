import { useEffect, useState } from 'preact/hooks'
import type { ChainCheck } from '../../../src/admin/shapes/audit.ts'
import { useAppContext, useHasRole } from '../app-context.ts'
import { toCount } from '../format.ts'
import { auditTexts as texts } from '../texts/en/audit.ts'
import { fill } from '../texts/fill.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'
import { ErrorNote } from './error-note.tsx'
import { FileField } from './file-field.tsx'
import { Panel } from './panel.tsx'
import { QueryResult } from './query-result.tsx'
import { When } from './when.tsx'

const PAUSE_MS = 1000

export function ChainCheckPanel() {
  const { api } = useAppContext()
  const isOperator = useHasRole('operator')
  const query = useQuery<ChainCheck>('/admin/audit/check')
  const start = useMutation(async (file?: File) => {
    if (file) await api.upload('/admin/audit/check/file', file, { type: 'application/x-ndjson', key: '' })
    else await api.post('/admin/audit/check')
    query.reload()
  })
  const { value, reload } = query
  // Every response is a new value, so this repeats until the verification ends.
  useEffect(() => {
    if (value?.state !== 'running') return
    const timer = setTimeout(reload, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value, reload])
  const isBusy = start.isBusy || value?.state === 'running'
  return (
    <Panel
      title={texts.verifyTitle}
      aside={
        isOperator && (
          <button type="button" class="push" disabled={isBusy} aria-busy={isBusy} onClick={() => start.run()}>
            {texts.verify}
          </button>
        )
      }
    >
      <ErrorNote error={start.error} />
      <QueryResult query={query} lines={2}>
        {(check) => <Verdict check={check} />}
      </QueryResult>
      {isOperator && <KeptCopy isBusy={isBusy} onFile={start.run} />}
    </Panel>
  )
}

/** A copy of the checkpoints that this server cannot have changed. */
function KeptCopy({ isBusy, onFile }: { isBusy: boolean; onFile: (file: File) => void }) {
  const [file, setFile] = useState<File>()
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (file) onFile(file)
      }}
    >
      <FileField label={texts.file} help={texts.fileHelp} accept=".log,.ndjson,.txt" onFile={setFile} />
      <button type="submit" disabled={isBusy || !file} aria-busy={isBusy}>
        {texts.verifyFile}
      </button>
    </form>
  )
}

function Verdict({ check }: { check: ChainCheck }) {
  const { state, rows, total } = check
  if (state === 'none')
    return (
      <p class="dim">
        {fill(texts.notVerified, { command: <code>tabbat audit verify --checkpoints FILE</code> })}
      </p>
    )
  if (state === 'running')
    return (
      <>
        <progress value={rows} max={Math.max(total, rows, 1)} aria-label={texts.rowsVerified} />
        <p class="dim">
          {total === 0
            ? texts.starting
            : fill(texts.progress, { rows: toCount(rows), total: toCount(total) })}
        </p>
      </>
    )
  const isSound = state === 'sound'
  return (
    <div class={`note ${isSound ? 'good' : 'bad'}`} role={isSound ? 'status' : 'alert'}>
      <p>
        <b>{check.headline}</b>
      </p>
      <Sentences texts={check.compared} />
      <Sentences texts={check.limits} />
      <Measure check={check} />
    </div>
  )
}

const Sentences = ({ texts: sentences }: { texts: readonly string[] }) =>
  sentences.length === 0 ? null : (
    <ul>
      {sentences.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  )

function Measure({ check }: { check: ChainCheck }) {
  const { seconds, started_at, started_by } = check
  return (
    <small>
      {fill(started_by ? texts.measureBy : texts.measure, {
        seconds: seconds.toFixed(1),
        time: <When at={started_at} />,
        name: started_by,
      })}
    </small>
  )
}
