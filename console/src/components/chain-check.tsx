import { useEffect } from 'preact/hooks'
import type { ChainCheck } from '../../../src/admin/shapes/audit.ts'
import { useAppContext, useHasRole } from '../app-context.ts'
import { toCount } from '../format.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'
import { Panel, When } from './pieces.tsx'
import { ErrorNote, QueryResult } from './states.tsx'

const PAUSE_MS = 1000

export function ChainCheckPanel() {
  const { api } = useAppContext()
  const may = useHasRole('operator')
  const answer = useQuery<ChainCheck>('/admin/audit/check')
  const start = useMutation(async () => {
    await api.post('/admin/audit/check')
    answer.reload()
  })
  const { value, reload } = answer
  // Every answer is a new value, so a running check is asked for again and again until it ends.
  useEffect(() => {
    if (value?.state !== 'running') return
    const timer = setTimeout(reload, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value, reload])
  const isBusy = start.isBusy || value?.state === 'running'
  return (
    <Panel
      title="Compare the log with its checkpoints"
      aside={
        may && (
          <button type="button" class="push" disabled={isBusy} aria-busy={isBusy} onClick={() => start.run()}>
            Verify the log
          </button>
        )
      }
    >
      <ErrorNote error={start.error} />
      <QueryResult answer={answer} lines={2}>
        {(check) => <Verdict check={check} />}
      </QueryResult>
    </Panel>
  )
}

function Verdict({ check }: { check: ChainCheck }) {
  const { state, rows, total } = check
  if (state === 'none')
    return (
      <p class="dim">The log has not been verified since this server started. A check reads every row.</p>
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

/** Paths and hashes are long words. */
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
