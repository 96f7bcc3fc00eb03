import { setTimeout as pause } from 'node:timers/promises'
import { steadyNow } from '../contract/time.ts'
import type { Log } from '../telemetry/log.ts'
import { createRequestLog, type RequestLog } from './request-log.ts'
import { BLOCKS_PER_STEP, type RequestTable } from './request-table.ts'
import type { RequestSettings } from './settings.ts'

type OpenedRequests = {
  /** Undefined: TABBAT_REQUESTS_KEEP is off. */
  readonly requests: RequestLog | undefined
  readonly close: () => Promise<void>
}

type RequestDeps = {
  readonly store: { readonly requests: RequestTable }
  readonly log: Log
  readonly owner: string
  readonly workerNumber: number
}

/** The request log. The first worker of each node deletes what is too old. */
export function openRequests(
  config: RequestSettings,
  { store, log, owner, workerNumber }: RequestDeps,
): OpenedRequests {
  const { requestsKeep: keepMs, requestsMax: mostRequests } = config
  const requests = keepMs === 'off' ? undefined : createRequestLog(store.requests, owner)
  const stopPruning =
    workerNumber === 1 ? startPruning(store.requests, { keepMs, mostRequests }, log.failure) : undefined
  return {
    requests,
    close: async () => {
      await stopPruning?.()
      await requests?.close()
    },
  }
}

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
function startPruning(
  table: Pick<RequestTable, 'deleteExpired'>,
  limits: PruneLimits,
  onFailure: (error: unknown) => void,
): () => Promise<void> {
  let isStopped = false
  let running: Promise<void> | undefined
  const run = () => {
    running ??= deleteExpiredRequests(table, limits, () => isStopped)
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

export async function deleteExpiredRequests(
  table: Pick<RequestTable, 'deleteExpired'>,
  { keepMs, mostRequests }: PruneLimits,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const before = keepMs === 'off' ? Number.MAX_SAFE_INTEGER : steadyNow() - keepMs
  while (!isStopped() && (await table.deleteExpired(before, mostRequests)) === BLOCKS_PER_STEP)
    await pause(PAUSE_MS)
}
