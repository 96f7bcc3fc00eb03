import { useEffect, useState } from 'preact/hooks'
import type { ChainCheck } from '../../../../src/admin/chain-check.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { ErrorNote } from '../../components/error-note.tsx'
import { FileField } from '../../components/file-field.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryResult } from '../../components/query-result.tsx'
import { When } from '../../components/when.tsx'
import { toCount } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

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
      title="Verify the log against its checkpoints"
      aside={
        isOperator && (
          <button type="button" class="push" disabled={isBusy} aria-busy={isBusy} onClick={() => start.run()}>
            Verify the log
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
      <FileField
        label="A checkpoints.log that was kept elsewhere"
        help="Compares the log with this file instead of the one of this server. At most 80 MB, not compressed."
        accept=".log,.ndjson,.txt"
        onFile={setFile}
      />
      <button type="submit" disabled={isBusy || !file} aria-busy={isBusy}>
        Compare with this file
      </button>
    </form>
  )
}

function Verdict({ check }: { check: ChainCheck }) {
  const { state, rows, total } = check
  if (state === 'none')
    return (
      <p class="dim">
        Not verified since this server started. Verification reads every row and finds rows that were changed,
        inserted or removed, but a cut at the end of the log together with its checkpoints cannot be seen
        without checkpoints that were kept elsewhere. Keep copies of checkpoints.log on another machine, and
        compare with one here or with <code>tabbat audit verify --checkpoints FILE</code>.
      </p>
    )
  if (state === 'running')
    return (
      <>
        <progress value={rows} max={Math.max(total, rows, 1)} aria-label="Rows verified" />
        <p class="dim">{total === 0 ? 'Starting…' : `${toCount(rows)} of ${toCount(total)} rows`}</p>
      </>
    )
  const isSound = state === 'sound'
  return (
    <div class={`note ${isSound ? 'good' : 'bad'}`} role={isSound ? 'status' : 'alert'}>
      <p>
        <b>{check.headline}</b>
      </p>
      <Sentences sentences={check.compared} />
      <Sentences sentences={check.limits} />
      <Measure check={check} />
    </div>
  )
}

const Sentences = ({ sentences }: { sentences: readonly string[] }) =>
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
      {seconds.toFixed(1)} s. Started <When at={started_at} />
      {started_by && ` by ${started_by}`}.
    </small>
  )
}
