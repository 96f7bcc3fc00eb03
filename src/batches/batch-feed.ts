import type { Mode } from '../contract/scope.ts'
import type { Database, Row } from '../database/database.ts'
import { MAX_CLOCK_SKEW_MS, toSharedNow } from '../database/database-clock.ts'
import type { Reader } from '../database/define-table.ts'
import { insertInTx } from '../ledger/queue-changes.ts'
import {
  addToCounts,
  countQueued,
  type EndedQueued,
  type ErasedQueued,
  eraseQueued,
  lockCounts,
  toCountName,
} from '../ledger/queue-counts.ts'
import type { NewQueued } from '../ledger/queue-rows.ts'
import { BATCH_GROUPS, endBatchRows } from './batch-groups.ts'

export type FeedOptions = {
  /** Time between two rows of one key. */
  readonly intervalMs: number
  /** Rows are moved to the queue so long before they are due. */
  readonly aheadMs: number
  /** Rows of one key that may be in the queue. */
  readonly mostQueued: number
  /** How long a row may wait for its answer after it is due. */
  readonly lifeMs: Readonly<Record<Mode, number>>
}

/** Held while rows are moved to the queue. */
const FEED_LOCK = 'feed batches'

/** Few enough that no other write waits noticeably. */
const ROWS_PER_STEP = 200

/**
 * Moves the next rows of a batch to the queue, or ends rows of a batch that was stopped. Returns how many rows; 0 when nothing
 * is due. One process at a time does this.
 */
export async function feedBatches(tx: Database, options: FeedOptions, now: number): Promise<number> {
  await tx.lock(FEED_LOCK)
  const batch = await findNext(tx, options, now)
  if (!batch) return 0
  const counted = { lineage: batch.lineage, lane: 'batch' } as const
  // In the order in which rows are ended: the counts, then the batch.
  const queued = (await lockCounts(tx, [counted])).get(toCountName(counted)) ?? 0
  if (!(await lockBatch(tx, batch))) return 0
  if (batch.state === 'stopping') return endWaiting(tx, batch)
  const dueRows = Math.ceil((batch.now + options.aheadMs - batch.startAt) / options.intervalMs)
  const rows = await takeRows(tx, batch, Math.min(dueRows, options.mostQueued - queued))
  if (rows.length === 0) return 0
  await insertInTx(
    tx,
    rows.map((row, index) => toQueued(batch, row, index, options)),
    now,
  )
  await addToCounts(
    tx,
    rows.map(() => counted),
    1,
  )
  await tx
    .prepare(
      `INSERT INTO batch_paces (lineage, paced_until) VALUES ($1, $2)
       ON CONFLICT (lineage) DO UPDATE SET paced_until = excluded.paced_until`,
    )
    .run(batch.lineage, Math.round(batch.startAt + rows.length * options.intervalMs))
  return rows.length
}

type NextBatch = {
  readonly id: string
  readonly keyId: string
  readonly lineage: string
  readonly mode: Mode
  readonly state: string
  readonly fedLine: number
  readonly now: number
  /** When its next row is due. */
  readonly startAt: number
}

/** Keys take turns; of one key, the oldest batch comes first. */
async function findNext(
  tx: Database,
  { intervalMs, aheadMs, mostQueued }: FeedOptions,
  now: number,
): Promise<NextBatch | undefined> {
  const at = toSharedNow(tx, '$1')
  const pacedUntil = `CASE WHEN paced_until <= ${at} + $4 THEN paced_until ELSE 0 END`
  const mostAheadMs = Math.ceil(aheadMs + intervalMs) + MAX_CLOCK_SKEW_MS
  const row = await tx
    .prepare(
      `SELECT batches.id, key_id, batches.lineage, mode, state, fed_line, ${at} AS now,
         ${pacedUntil} AS paced_until
       FROM batches LEFT JOIN batch_paces ON batch_paces.lineage = batches.lineage
         LEFT JOIN queue_counts ON queue_counts.lineage = batches.lineage AND lane = 'batch'
       WHERE ended_at IS NULL AND fed < total - refused AND (state = 'stopping'
         OR (state = 'running' AND ${pacedUntil} < ${at} + $2 AND COALESCE(pending, 0) < $3))
       ORDER BY CASE state WHEN 'stopping' THEN 0 ELSE 1 END, ${pacedUntil}, accepted_at, batches.id LIMIT 1`,
    )
    .get(now, aheadMs, mostQueued, mostAheadMs)
  return row && toNextBatch(row)
}

const toNextBatch = (row: Row): NextBatch => ({
  id: String(row.id),
  keyId: String(row.key_id),
  lineage: String(row.lineage),
  mode: row.mode as Mode,
  state: String(row.state),
  fedLine: Number(row.fed_line),
  now: Number(row.now),
  startAt: Math.max(Number(row.paced_until), Number(row.now)),
})

/** False when the batch was stopped meanwhile, which is done before its rows in the queue are cancelled. */
async function lockBatch(tx: Database, { id, state }: NextBatch): Promise<boolean> {
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE' : ''
  const row = await tx.prepare(`SELECT state FROM batches WHERE id = $1 ${lock}`).get(id)
  return row?.state === state
}

/** The next rows. They are in the queue from now on, so that their questions are not needed here any more. */
async function takeRows(tx: Database, { id, fedLine }: NextBatch, most: number): Promise<Row[]> {
  const rows = await tx
    .prepare(
      `SELECT line, reference, operation, subject, question FROM batch_rows
       WHERE batch = $1 AND line > $2 AND question IS NOT NULL ORDER BY line LIMIT $3`,
    )
    .all(id, fedLine, Math.max(0, Math.min(most, ROWS_PER_STEP)))
  const last = rows.at(-1)
  if (!last) return []
  await tx
    .prepare('UPDATE batch_rows SET question = NULL WHERE batch = $1 AND line > $2 AND line <= $3')
    .run(id, fedLine, Number(last.line))
  await tx
    .prepare('UPDATE batches SET fed = fed + $2, fed_line = $3 WHERE id = $1')
    .run(id, rows.length, Number(last.line))
  return rows
}

function toQueued(
  { id, keyId, lineage, mode, now, startAt }: NextBatch,
  { reference, operation, subject, question }: Row,
  index: number,
  { intervalMs, lifeMs }: FeedOptions,
): NewQueued {
  const delayMs = Math.round(startAt - now + index * intervalMs)
  return {
    reference: String(reference),
    keyId,
    lineage,
    mode,
    operation: String(operation),
    subject: subject as Uint8Array,
    lane: 'batch',
    batch: id,
    delayMs,
    lifeMs: delayMs + lifeMs[mode],
    question: question as Uint8Array,
  }
}

/** Rows of a stopped batch that were not moved yet. */
async function endWaiting(tx: Database, batch: NextBatch): Promise<number> {
  const rows = await takeRows(tx, batch, ROWS_PER_STEP)
  await endBatchRows(tx, batch.id, 'cancelled', rows.length)
  return rows.length
}

/** Verifications about a person that wait, and answers that are kept. */
export const countVerifications = async (database: Reader, subject: Uint8Array): Promise<number> =>
  (await countQueued(database, subject)) + (await countBatchRows(database, subject))

/** Rows of batches with a caller's word about a person. */
export async function countLabels(database: Reader, subject: Uint8Array): Promise<number> {
  const row = await database
    .prepare(`SELECT COUNT(*) AS found FROM batch_rows WHERE ${LABELLED}`)
    .get(subject)
  return Number(row?.found)
}

/** Erases them, in the queue and in batches, with the callers' words. Those that wait end. */
export async function eraseVerifications(
  tx: Database,
  subject: Uint8Array,
): Promise<ErasedQueued & { readonly labels: number }> {
  // First of all locks: no row is moved to the queue while a person is erased.
  await tx.lock(FEED_LOCK)
  const { queued, ended } = await eraseQueued(tx, BATCH_GROUPS, subject)
  const labels = await tx.prepare(`UPDATE batch_rows SET label = NULL WHERE ${LABELLED}`).run(subject)
  const rows = await eraseBatchRows(tx, subject)
  return { queued: queued + rows.length, ended: [...ended, ...rows], labels }
}

/** By the index on the batch and the subject: there are few batches. */
const ABOUT = 'batch IN (SELECT id FROM batches) AND subject = $1'
const WAITING = `${ABOUT} AND question IS NOT NULL`
const LABELLED = `${ABOUT} AND label IS NOT NULL`

async function countBatchRows(database: Reader, subject: Uint8Array): Promise<number> {
  const row = await database.prepare(`SELECT COUNT(*) AS found FROM batch_rows WHERE ${WAITING}`).get(subject)
  return Number(row?.found)
}

/** Erases the questions about a person that wait. */
async function eraseBatchRows(tx: Database, subject: Uint8Array): Promise<EndedQueued[]> {
  const waiting = await tx
    .prepare(
      `SELECT batch, reference, batch_rows.operation, key_id, mode FROM batch_rows JOIN batches ON batches.id = batch
       WHERE ${WAITING} ORDER BY batch`,
    )
    .all(subject)
  await tx.prepare(`UPDATE batch_rows SET question = NULL WHERE ${WAITING}`).run(subject)
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
