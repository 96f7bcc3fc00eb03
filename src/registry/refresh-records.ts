import type { Database } from '../database/database.ts'
import type { SealedRecord } from './sealed-record.ts'

/** Written at most once a day: an import of unchanged records must stay fast. */
export const REFRESH_EVERY_MS = 24 * 60 * 60 * 1000

/** Notes that an import contained these records, for those that were not refreshed since a day. */
export async function refreshRecords(
  tx: Database,
  records: readonly SealedRecord[],
  at: number,
): Promise<void> {
  const before = at - REFRESH_EVERY_MS
  if (tx.dialect === 'postgres') {
    await avoidTableScans(tx)
    await tx
      .prepare(
        `UPDATE registry SET updated_at = $3 WHERE ctid = ANY(${toRowIds('registry')}) AND updated_at < $4`,
      )
      .run(Buffer.concat(records.map(({ subject }) => subject)), records.length, at, before)
    return
  }
  await tx
    .prepare('UPDATE registry SET updated_at = $2 WHERE subject = $1 AND updated_at < $3')
    .runAll(records.values().map(({ subject }) => [subject, at, before]))
}

/**
 * In PostgreSQL: the rows of these subjects, which are $1, all in one value, and $2, their number. OFFSET keeps the planner from
 * a join, which would read the whole table. The caller holds the lock of the registry, so the rows stay where they are.
 */
export const toRowIds = (table: 'registry' | 'media') => `ARRAY(
  SELECT found.ctid FROM generate_series(0, $2::int - 1) AS place CROSS JOIN LATERAL
    (SELECT ctid FROM ${table} WHERE subject = substring($1::bytea FROM 32 * place + 1 FOR 32) OFFSET 0) AS found)`

/** Until the end of the transaction. A plan is made once, perhaps while the table was empty, and used when it has millions of rows. */
export async function avoidTableScans(tx: Database): Promise<void> {
  await tx.prepare('SET LOCAL enable_seqscan = off').run()
}
