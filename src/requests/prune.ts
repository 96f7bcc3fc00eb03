import { setTimeout as pause } from 'node:timers/promises'
import { steadyNow } from '../contract/time.ts'
import { BLOCKS_PER_STEP, type RequestTable } from '../store/request-table.ts'

type PruneLimits = {
  /** `off`: nothing is kept. */
  readonly keepMs: number | 'off'
  readonly mostRequests: number
}

/** A busy server fills the log in minutes, so the hourly cleanup would come too late. */
const PRUNE_EVERY_MS = 30_000
/** Between two steps, for the requests that are waiting. */
const PAUSE_MS = 20

/** Until the returned function is called: deletes what is too old or too much, in small steps. */
export function startPruning(
  table: Pick<RequestTable, 'prune'>,
  limits: PruneLimits,
  onFailure: (error: unknown) => void,
): () => Promise<void> {
  let isStopped = false
  let running: Promise<void> | undefined
  const run = () => {
    running ??= pruneRequests(table, limits, () => isStopped)
      .catch(onFailure)
      .finally(() => {
        running = undefined
      })
  }
  const timer = setInterval(run, PRUNE_EVERY_MS).unref()
  return async () => {
    isStopped = true
    clearInterval(timer)
    await running
  }
}

export async function pruneRequests(
  table: Pick<RequestTable, 'prune'>,
  { keepMs, mostRequests }: PruneLimits,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const before = keepMs === 'off' ? Number.MAX_SAFE_INTEGER : steadyNow() - keepMs
  while (!isStopped() && (await table.prune(before, mostRequests)) === BLOCKS_PER_STEP) await pause(PAUSE_MS)
}
