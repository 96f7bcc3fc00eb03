import type { Head } from '../store/audit-chains.ts'
import type { AuditTable } from '../store/audit-table.ts'
import { isOutcomeUnknown } from '../store/failure.ts'
import { LOST_CODE } from '../store/sqlite-files.ts'

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

/** Whether a commit whose reply was lost has been executed: looks for its last row. */
export async function wasCommitted(table: AuditTable, chain: string, last: Head | undefined, error: unknown) {
  if (!last || !isOutcomeUnknown(error)) return false
  return holds(table, chain, last).catch(() => false)
}

/** Throws when acknowledged rows are gone, as after a failover to a standby that lagged or a restored old copy. */
export async function refuseLostRows(table: AuditTable, chain: string, last: Head | undefined) {
  if (last && !(await holds(table, chain, last))) throw new RowsLost()
}
