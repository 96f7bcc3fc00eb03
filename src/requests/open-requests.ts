import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import { startPruning } from './prune.ts'
import { createRequestLog, type RequestLog } from './request-log.ts'
import type { RequestSettings } from './settings.ts'

type OpenedRequests = {
  /** Undefined: TABBAT_REQUESTS_KEEP is off. */
  readonly requests: RequestLog | undefined
  readonly close: () => Promise<void>
}

type RequestDeps = {
  readonly store: Store
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
