import type { Database } from '../database/database.ts'
import type { Append, Appended, AuditBatch, PackRows, RecordRows } from './audit-batch.ts'
import { complete } from './completion.ts'
import { type EncodedRows, encodeRows } from './encoded-rows.ts'
import { planQueueChanges } from './plan-queue-changes.ts'
import { appendRecords, packRecords } from './postgres-append.ts'
import { retryIfStored } from './postgres-checks.ts'
import type { QueueBatch } from './queue-change.ts'
import { createSqliteAppend } from './sqlite-append.ts'

export function createAppend(database: Database): Append {
  if (!database.sync) return createPostgresAppend(database)
  const append = createSqliteAppend(database.sync)
  return (rows, completions, tallies = [], checks = undefined, queue = NO_CHANGES) =>
    database.transaction((tx) =>
      withQueueChanges(tx, queue, async () =>
        append({ rows: rows as EncodedRows, completions, tallies, checks }),
      ),
    )
}

const NO_CHANGES: QueueBatch = { now: 0, changes: [] }

/** Makes the changes of the queue if neither they nor the rows are refused. */
async function withQueueChanges(
  tx: Database,
  queue: QueueBatch,
  append: () => Promise<Appended>,
): Promise<Appended> {
  if (queue.changes.length === 0) return append()
  const { refused, write } = await planQueueChanges(tx, queue)
  if (refused.length > 0) return { refused, late: [] }
  const appended = await append()
  if (appended.refused.length === 0) await write()
  return appended
}

export const createPackRows = ({ dialect }: Database): PackRows =>
  dialect === 'postgres' ? packRecords : (rows, encoded = encodeRows(rows)) => encoded

const createPostgresAppend =
  (database: Database): Append =>
  async (rows, completions, tallies = [], checks = undefined, queue = NO_CHANGES) => {
    const batch = { rows: rows as RecordRows, completions, tallies, checks }
    // A single statement is its own transaction.
    return retryIfStored(() =>
      completions.length === 0 && queue.changes.length === 0
        ? appendRecords(database, batch)
        : database.transaction((tx) => withQueueChanges(tx, queue, () => appendInTx(tx, batch))),
    )
  }

async function appendInTx(tx: Database, batch: AuditBatch<RecordRows>): Promise<Appended> {
  const appended = await appendRecords(tx, batch)
  if (appended.refused.length > 0) return appended
  return { refused: [], late: await complete(tx, batch.completions) }
}
