import { createEvent, type NewEvent } from '../contract/event.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { toByteOrder } from '../database/byte-order.ts'
import type { Database, Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { appendEvents } from '../ledger/event-table.ts'
import type { GroupChange, QueueGroups } from '../ledger/queue-rows.ts'
import { packValues, toUnpack } from '../ledger/queue-rows.ts'
import { BATCH_COLUMNS, type Batch, countOpenRows, ROW_ENDS, type RowEnd, toBatch } from './batch.ts'

/** What the commits of the queue change in batches. */
export const BATCH_GROUPS: QueueGroups = {
  lock: async (tx, changes, rows) => {
    const ids = [
      ...changes.map(({ change }) => (change as BatchChange).id),
      ...rows.flatMap(({ batch }) => batch ?? []),
    ]
    const batches = changes.length === 0 ? new Map() : await lockBatches(tx, new Set(ids))
    return ({ change }) => mayChange(batches, change as BatchChange)
  },
  write: async (tx, { change }, now) => {
    const made = change as BatchChange
    if (made.kind === 'accept') await acceptBatch(tx, made, now)
    else await tx.prepare(`UPDATE batches SET state = 'stopping' WHERE id = $1`).run(made.id)
  },
  end: async (tx, ends) => {
    const rows = ends.flatMap(({ batch, outcome }) =>
      batch === null ? [] : [{ batch, end: toRowEnd(outcome) }],
    )
    const groups = Map.groupBy(rows, ({ batch, end }) => `${batch} ${end}`)
    // In the order of lockBatches, so that two transactions do not wait for each other.
    for (const [, group] of [...groups].sort())
      if (group[0]) await endBatchRows(tx, group[0].batch, group[0].end, group.length)
  },
  toKeptUntil: (id, now, keepMs) =>
    `(SELECT COALESCE(ended_at, ${now}) + CAST(${keepMs} AS BIGINT) FROM batches WHERE batches.id = ${id})`,
}

/** Refused when the batch is not received by this process any more, or has ended or was stopped before. */
type BatchChange =
  | {
      readonly kind: 'accept'
      readonly id: string
      /** The process that receives it. */
      readonly owner: string
      readonly rows: number
      readonly refused: number
      /** Keyed hash of the body. */
      readonly fingerprint: Uint8Array
    }
  | { readonly kind: 'stop'; readonly id: string }

/** Accepts or stops a batch in the same commit as its audit row. */
export const toGroupChange = (change: BatchChange): GroupChange => ({ kind: 'group', change })

type BatchLock = { readonly state: string; readonly owner: string }

/** By id. In PostgreSQL they stay locked until the end of the transaction: all in one order, so that two do not wait for each other. */
async function lockBatches(tx: Database, ids: ReadonlySet<string>): Promise<Map<string, BatchLock>> {
  const { rows: packed, text } = toUnpack(tx)
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE OF batches' : ''
  const found = await tx
    .prepare(
      `SELECT batches.id, state, owner FROM ${packed('$1')} JOIN batches ON batches.id = ${text(0)}
       ORDER BY ${toByteOrder(tx, 'batches.id')} ${lock}`,
    )
    .all(packValues([...ids].map((id) => [id])))
  return new Map(
    found.map(({ id, state, owner }) => [String(id), { state: String(state), owner: String(owner) }]),
  )
}

/** A batch can be accepted once, by the process that receives it, and stopped once. */
function mayChange(batches: Map<string, BatchLock>, change: BatchChange): boolean {
  const found = batches.get(change.id)
  batches.delete(change.id)
  return change.kind === 'accept'
    ? found?.state === 'receiving' && found.owner === change.owner
    : found?.state === 'running'
}

/** From now on its rows are verified. A batch without a good row ends at once. */
async function acceptBatch(
  tx: Database,
  { id, owner, rows, refused, fingerprint }: Extract<BatchChange, { kind: 'accept' }>,
  now: number,
): Promise<void> {
  const at = toSharedNow(tx, 'CAST($6 AS BIGINT)')
  const row = await tx
    .prepare(
      `UPDATE batches SET state = 'running', total = $3, refused = $4, fingerprint = $5, accepted_at = ${at}
       WHERE id = $1 AND owner = $2 AND state = 'receiving' RETURNING ${BATCH_COLUMNS}`,
    )
    .get(id, owner, rows, refused, fingerprint, now)
  if (!row) throw new Error('a batch is accepted that is not received')
  await endIfDone(tx, row)
}

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
function toRowEnd(outcome: string): RowEnd {
  if (outcome === 'erased') return 'cancelled'
  return ROW_ENDS.find((end) => end === outcome) ?? 'failed'
}

/** In a transaction that holds the row of the batch: ends it if its last row has ended. */
async function endIfDone(tx: Database, row: Row): Promise<void> {
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
