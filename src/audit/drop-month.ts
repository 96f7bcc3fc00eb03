import type { Database } from '../database/database.ts'
import { UserError } from '../errors.ts'

const LOCK_TIMEOUT = '300ms'
const LOCK_NOT_AVAILABLE = '55P03'
const NOT_ALLOWED = '42501'

/**
 * Detaches the partition, which is a table of its own then, and drops it. For the first, all other statements on the log wait:
 * not longer than the timeout. A month whose rows are not all archived is left as it is.
 */
export async function dropMonth(database: Database, month: string): Promise<'done' | 'busy'> {
  const table = `audit_${month}`
  try {
    await database.transaction(async (tx) => {
      await tx.prepare(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`).run()
      const attached = await tx
        .prepare('SELECT 1 AS found FROM pg_inherits WHERE inhrelid = to_regclass($1)')
        .get(table)
      if (!attached) return
      await tx.prepare(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`).run()
      await refuseOtherRows(tx, table)
      await tx.prepare(`ALTER TABLE audit DETACH PARTITION ${table}`).run()
    })
    await database.transaction((tx) => tx.prepare(`DROP TABLE IF EXISTS ${table}`).run(), {
      patient: true,
    })
    return 'done'
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === LOCK_NOT_AVAILABLE) return 'busy'
    if (code !== NOT_ALLOWED) throw error
    throw new UserError(
      `The archive is recorded, but the partition ${table} cannot be dropped: the user of the database must own the table. Run the command again as its owner.`,
    )
  }
}

/** By the last row of each chain: chains are in audit_chains before they have rows. */
async function refuseOtherRows(tx: Database, table: string): Promise<void> {
  const other = await tx
    .prepare(
      `SELECT chain FROM audit_chains WHERE EXISTS (SELECT 1 FROM ${table} AS month
         WHERE month.chain = audit_chains.chain AND month.sequence > COALESCE(archived_rows, 0)) LIMIT 1`,
    )
    .get()
  if (other)
    throw new UserError(
      `The partition ${table} has rows of chain ${String(other.chain)} that are not archived. It was not removed.`,
    )
}
