import { steadyNow } from '../../contract/time.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { QueueTable } from '../../ledger/queue-table.ts'
import type { SourceSettings } from '../../sources/settings.ts'
import type { Log } from '../../telemetry/log.ts'
import type { PendingSettings } from '../settings.ts'
import type { VerificationDeps } from '../verification-deps.ts'
import { createQueuePace } from './pace.ts'
import type { QueueDeps } from './queue-deps.ts'
import { createQueueSignals } from './queue-signals.ts'
import { startQueueWorker } from './worker.ts'

type QueueSettings = PendingSettings &
  Pick<SourceSettings, 'paidCalls'> & { readonly batchConcurrency: number }

/** What verifications that are answered later need. The worker is started when the context is complete. */
export const openQueue = (
  config: QueueSettings,
  { queue: table }: { readonly queue: QueueTable },
  keyring: Keyring,
  { findCaller, announce }: Pick<QueueDeps, 'findCaller' | 'announce'>,
): QueueDeps => ({
  table,
  keyring,
  findCaller,
  signals: createQueueSignals(table.listEnded),
  pace: createQueuePace(config.pendingConcurrency),
  announce,
  settings: {
    limitMs: config.pendingLimit,
    keepMs: config.pendingKeep,
    firstRetryMs: config.pendingRetry,
    longestRetryMs: config.pendingRetryMax,
    maxWaitMs: config.pendingWait,
    paidCalls: config.paidCalls,
    limits: { perKey: config.pendingMaxPerKey, all: config.pendingMax },
    concurrency: { single: config.pendingConcurrency, batch: config.batchConcurrency },
  },
})

/** After that of batches. */
export const toCleanup = ({ table, settings: { keepMs } }: QueueDeps) => ({
  forget: () => table.forget(keepMs, steadyNow()),
})

type Running = VerificationDeps & { readonly log: Log; readonly lifecycle: { readonly stopping: boolean } }

/** Works on the queue until the returned function is called. Callers that wait get their 202 then. */
export function startQueue(context: Running): () => Promise<void> {
  const { audit, log, lifecycle, queue } = context
  const stop = startQueueWorker(context, {
    owner: audit.owner,
    onFailure: log.failure,
    isStopping: () => lifecycle.stopping,
  })
  return async () => {
    queue.signals.close()
    await stop()
  }
}
