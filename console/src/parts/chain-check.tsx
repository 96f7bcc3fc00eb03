import { useEffect } from 'preact/hooks'
import type { ChainCheck } from '../../../src/admin/shapes/audit.ts'
import { useDesk, useMay } from '../desk.ts'
import { toCount } from '../format.ts'
import { useAnswer } from '../use-answer.ts'
import { useDeed } from '../use-deed.ts'
import { Panel, When } from './pieces.tsx'
import { Shown, Trouble } from './states.tsx'

const PAUSE_MS = 1000

export function ChainCheckPanel() {
  const { ask } = useDesk()
  const may = useMay('operator')
  const answer = useAnswer<ChainCheck>('/admin/audit/check')
  const start = useDeed(async () => {
    await ask.post('/admin/audit/check')
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
      title="Is the log whole?"
      aside={
        may && (
          <button type="button" class="push" disabled={isBusy} aria-busy={isBusy} onClick={() => start.run()}>
            Verify the chain
          </button>
        )
      }
    >
      <Trouble error={start.error} />
      <Shown answer={answer} lines={2}>
        {(check) => <Verdict check={check} />}
      </Shown>
    </Panel>
  )
}

function Verdict({ check }: { check: ChainCheck }) {
  const { state, rows, total } = check
  if (state === 'none')
    return <p class="dim">The chain has not been verified since this server started. It reads every row.</p>
  if (state === 'running')
    return (
      <>
        <progress value={rows} max={Math.max(total, rows, 1)} aria-label="Rows verified" />
        <p class="dim">{total === 0 ? 'Starting…' : `${toCount(rows)} of ${toCount(total)} rows`}</p>
      </>
    )
  if (state === 'sound')
    return (
      <div class="note good" role="status">
        <p>The log is whole: nothing was changed, removed, swapped or put in.</p>
        <Measure check={check} />
      </div>
    )
  return (
    <div class="note bad" role="alert">
      <p>
        <b>{state === 'faulty' ? 'The log is not whole.' : 'The check could not be finished.'}</b>{' '}
        {check.fault}
      </p>
      <Measure check={check} />
    </div>
  )
}

function Measure({ check }: { check: ChainCheck }) {
  const { rows, chains, checkpoints, unsigned, seconds, started_at, started_by } = check
  return (
    <small>
      {toCount(rows)} rows in {toCount(chains)} {chains === 1 ? 'chain' : 'chains'}, {toCount(checkpoints)}{' '}
      signed checkpoints, {toCount(unsigned)} rows since the last, in {seconds.toFixed(1)} s. Started{' '}
      <When at={started_at} />
      {started_by && ` by ${started_by}`}.
    </small>
  )
}
