import type { AuditLog } from '../audit/audit-log.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { QueueDeps } from '../verification/queue/queue-deps.ts'
import type { BatchDeps } from './batch-deps.ts'
import { type Batches, openBatches } from './batches.ts'
import type { BatchSettings } from './settings.ts'

type Deps = {
  readonly store: Store
  readonly audit: AuditLog
  readonly queue: QueueDeps
  readonly log: Log
}

/** Batches, with the feeder that moves their rows to the queue. */
export const startBatches = (
  config: BatchSettings & Pick<BatchDeps, 'purposes'>,
  { store, audit, queue, log }: Deps,
): Batches =>
  openBatches({
    table: store.batches,
    audit,
    queue,
    subjectKey: queue.keyring.subject,
    rowsPerMinute: config.batchRate,
    mostBatches: config.batchesPerKey,
    purposes: config.purposes,
    onFailure: log.failure,
  })
