import type { AuditTable, Head } from '../store/audit-table.ts'
import { isOutcomeUnknown } from '../store/failure.ts'
import { LOST_CODE } from '../store/sqlite-files.ts'

/** What came back was not what was acknowledged. */
class RowsLost extends Error {
  readonly code = LOST_CODE

  constructor() {
    super('the audit log came back older than it was')
    this.name = 'OlderLog'
  }
}

const holds = async (table: AuditTable, chain: string, { sequence, hash }: Head) => {
  const row = await table.find(chain, sequence)
  return row !== undefined && Buffer.from(row.hash).equals(hash)
}

/** A commit whose answer was lost on the way may have been carried out: the log itself says. */
export async function wasCommitted(table: AuditTable, chain: string, last: Head | undefined, error: unknown) {
  if (!last || !isOutcomeUnknown(error)) return false
  return holds(table, chain, last).catch(() => false)
}

/** A database that came back without rows that were acknowledged (an old copy, a standby that lagged) is not extended. */
export async function refuseLostRows(table: AuditTable, chain: string, last: Head | undefined) {
  if (last && !(await holds(table, chain, last))) throw new RowsLost()
}
