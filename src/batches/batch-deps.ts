import type { KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import type { QueueDeps } from '../verification/queue/open-queue.ts'
import type { BatchTable } from './batch-table.ts'

/** What batches need of the server. */
export type BatchDeps = {
  readonly table: BatchTable
  readonly audit: AuditLog
  readonly queue: QueueDeps
  /** Hashes numbers. */
  readonly subjectKey: KeyObject
  /** Of one key. */
  readonly rowsPerMinute: number
  /** Batches of one key that have not ended. */
  readonly mostBatches: number
  /** Allowed values of X-Purpose. Undefined: any. */
  readonly purposes: readonly string[] | undefined
  readonly onFailure: (error: unknown) => void
}
