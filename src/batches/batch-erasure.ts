import type { Database } from '../database/database.ts'
import type { Reader } from '../database/define-table.ts'
import { endBatchRows } from '../ledger/batch-end.ts'
import type { EndedQueued } from '../ledger/queue-erasure.ts'
import { FEED_LOCK } from './batch-feed.ts'

/** By the index on the batch and the subject: there are few batches. */
const ABOUT = 'batch IN (SELECT id FROM batches) AND subject = $1'
const WAITING = `${ABOUT} AND question IS NOT NULL`

export async function countBatchRows(database: Reader, subject: Uint8Array): Promise<number> {
  const row = await database.prepare(`SELECT COUNT(*) AS found FROM batch_rows WHERE ${WAITING}`).get(subject)
  return Number(row?.found)
}

/** First of all locks: no row is moved to the queue while a person is erased. */
export const lockBatchRows = (tx: Database) => tx.lock(FEED_LOCK)

/** Erases the rows about a person: questions that wait, and the caller's words for all rows. After the queue. */
export async function eraseBatchRows(tx: Database, subject: Uint8Array): Promise<EndedQueued[]> {
  const waiting = await tx
    .prepare(
      `SELECT batch, reference, batch_rows.operation, key_id, mode FROM batch_rows JOIN batches ON batches.id = batch
       WHERE ${WAITING} ORDER BY batch`,
    )
    .all(subject)
  await tx.prepare(`UPDATE batch_rows SET question = NULL, label = NULL WHERE ${ABOUT}`).run(subject)
  for (const [batch, rows] of Map.groupBy(waiting, (row) => String(row.batch))) {
    await tx.prepare('UPDATE batches SET fed = fed + $2 WHERE id = $1').run(batch, rows.length)
    await endBatchRows(tx, batch, 'cancelled', rows.length)
  }
  return waiting.map((row) => ({
    reference: String(row.reference),
    keyId: String(row.key_id),
    mode: String(row.mode),
    operation: String(row.operation),
  }))
}
