import { useEffect } from 'preact/hooks'
import type { ChainCheck } from '../../../src/admin/shapes/audit.ts'
import { useAppContext, useHasRole } from '../app-context.ts'
import { toCount } from '../format.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'
import { ErrorNote } from './error-note.tsx'
import { Panel } from './panel.tsx'
import { QueryResult } from './query-result.tsx'
import { When } from './when.tsx'

const PAUSE_MS = 1000

export function ChainCheckPanel() {
  const { api } = useAppContext()
  const isOperator = useHasRole('operator')
  const query = useQuery<ChainCheck>('/admin/audit/check')
  const start = useMutation(async () => {
    await api.post('/admin/audit/check')
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
    </Panel>
  )
}

function Verdict({ check }: { check: ChainCheck }) {
  const { state, rows, total } = check
  if (state === 'none')
    return (
      <p class="dim">
        Not verified since this server started. Verification reads every row and finds rows that were changed,
        inserted or removed. It cannot detect a log that was cut at its end together with its checkpoints: for
        that, keep copies of checkpoints.log on another machine and run{' '}
        <code>tabbat audit verify --checkpoints FILE</code>.
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
      <Sentences texts={check.compared} />
      <Sentences texts={check.limits} />
      <Measure check={check} />
    </div>
  )
}

const Sentences = ({ texts }: { texts: readonly string[] }) =>
  texts.length === 0 ? null : (
    <ul>
      {texts.map((text) => (
        <li key={text}>{text}</li>
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
