import { setTimeout as pause } from 'node:timers/promises'
import { isOutcomeUnknown } from '../database/failure.ts'
import { LOST_CODE } from '../database/sqlite-files.ts'
import { isServerTimeout } from '../database/timeout-breaker.ts'
import type { Head } from './audit-chains.ts'
import type { AuditTable } from './audit-table.ts'

/** The database no longer holds rows that were acknowledged. */
class RowsLost extends Error {
  readonly code = LOST_CODE

  constructor() {
    super('the audit log has lost acknowledged rows')
    this.name = 'RowsLost'
  }
}

const holds = async (table: AuditTable, chain: string, { sequence, hash }: Head) => {
  const row = await table.find(chain, sequence)
  return row !== undefined && Buffer.from(row.hash).equals(hash)
}

/** How much longer callers wait for the answer. */
export const LOOK_MS = 1000

/**
 * Whether a commit whose reply was lost has been executed: looks for its last row. A server that was silent for the whole
 * time of an operation is not asked, because its callers have waited long enough. They get 503, and the log is read before the
 * next row is written.
 */
export async function wasCommitted(table: AuditTable, chain: string, last: Head | undefined, error: unknown) {
  if (!last || !isOutcomeUnknown(error) || isServerTimeout(error)) return false
  const isThere = holds(table, chain, last).catch(() => false)
  return Promise.race([isThere, pause(LOOK_MS, false, { ref: false })])
}

/** Throws when acknowledged rows are gone, as after a failover to a standby that lagged or a restored old copy. */
export async function refuseLostRows(table: AuditTable, chain: string, last: Head | undefined) {
  if (last && !(await holds(table, chain, last))) throw new RowsLost()
}
