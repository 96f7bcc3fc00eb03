import { createEvent, type NewEvent } from '../contract/event.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import type { Database, Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { BATCH_COLUMNS, type Batch, countOpenRows, ROW_ENDS, type RowEnd, toBatch } from './batch.ts'
import { appendEvents } from './event-table.ts'

/** Counts rows that have ended, and ends the batch with its last row. In a transaction that has locked the counts of the queue. */
export async function endBatchRows(tx: Database, id: string, end: RowEnd, count: number): Promise<void> {
  const row = await tx
    .prepare(
      `UPDATE batches SET ${end} = ${end} + $2, ${toMarks(tx, '$3')} WHERE id = $1 RETURNING ${BATCH_COLUMNS}`,
    )
    .get(id, count, steadyNow())
  if (row) await endIfDone(tx, row)
}

/** SQL that notes how far a batch is, about once a minute. Values are those before the update. */
function toMarks(tx: Database, parameter: string): string {
  const now = toSharedNow(tx, `CAST(${parameter} AS BIGINT)`)
  const isDue = `mark_at IS NULL OR ${now} - mark_at >= ${MINUTE_MS}`
  const toMark = (column: string, value: string) =>
    `${column} = CASE WHEN ${isDue} THEN ${value} ELSE ${column} END`
  return [
    toMark('earlier_at', 'mark_at'),
    toMark('earlier_ended', 'mark_ended'),
    toMark('mark_at', now),
    toMark('mark_ended', ROW_ENDS.join(' + ')),
  ].join(', ')
}

/** How a row ends whose verification ended with this outcome. */
export function toRowEnd(outcome: string): RowEnd {
  if (outcome === 'erased') return 'cancelled'
  return ROW_ENDS.find((end) => end === outcome) ?? 'failed'
}

/** In a transaction that holds the row of the batch: ends it if its last row has ended. */
export async function endIfDone(tx: Database, row: Row): Promise<void> {
  const batch = toBatch(row)
  const isOpen = batch.state === 'running' || batch.state === 'stopping'
  if (!isOpen || countOpenRows(batch) > 0) return
  const state = batch.state === 'stopping' ? 'cancelled' : 'completed'
  await tx
    .prepare(
      `UPDATE batches SET state = $2, ended_at = ${toSharedNow(tx, 'CAST($3 AS BIGINT)')} WHERE id = $1`,
    )
    .run(batch.id, state, steadyNow())
  await appendEvents(tx, [toEvent(batch, state)])
}

const toEvent = (
  { id, keyId, mode, rows, refused, ends }: Batch,
  state: 'cancelled' | 'completed',
): NewEvent =>
  createEvent({
    type: 'batch.completed',
    at: steadyNow(),
    keyId,
    reference: id,
    data: { reference: id, status: state.toUpperCase(), mode, rows, refused, ...ends },
  })
