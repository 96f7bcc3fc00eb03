import type { Database, Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { defineTable, type Reader, type TableOf } from '../database/define-table.ts'
import { deleteSome, ROWS_PER_STEP } from '../database/delete-some.ts'
import { STORED_MS } from '../ledger/idempotency-table.ts'
import { packValues, toQueuedColumns, toUnpack } from '../ledger/queue-rows.ts'
import {
  BATCH_COLUMNS,
  type Batch,
  type BatchResult,
  type NewBatchRow,
  toBatch,
  toPlanColumns,
} from './batch.ts'
import { type FeedOptions, feedBatches } from './batch-feed.ts'
import { BATCH_GROUPS } from './batch-groups.ts'

type RefusedBatchRow = Pick<BatchResult, 'line' | 'reference' | 'label'> & { readonly refusals: string }

type Receiver = Pick<NewBatch, 'id' | 'owner'>

/** Files of verifications. Questions and labels are sealed. They are accepted and stopped with an audit row: see batch-groups.ts. */
export const batchTable = defineTable({
  reads: createReads,
  writes: (database) => ({
    begin: (batch: NewBatch, now: number) => database.transaction((tx) => beginBatch(tx, batch, now)),
    /** False when the batch is not received by this process any more. */
    addRows: (batch: Receiver, rows: readonly NewBatchRow[], now: number) =>
      database.transaction((tx) => addBatchRows(tx, batch, rows, now)),
    /** Its body did not arrive whole. */
    breakOff: async ({ id, owner }: Receiver) => void (await database.prepare(BREAK).run(id, owner)),
    /** Moves rows to the queue of verifications: see batch-feed.ts. */
    feed: (options: FeedOptions, now: number) => database.transaction((tx) => feedBatches(tx, options, now)),
    /**
     * Deletes some rows of a batch whose time is over. Returns a full step while there may be more. The batch itself stays as
     * long as its Idempotency-Key.
     */
    deleteExpired: (keepMs: number, now: number) =>
      database.transaction((tx) => deleteExpiredInTx(tx, keepMs, now)),
  }),
})
export type BatchTable = TableOf<typeof batchTable>

/** Where a list of batches continues. */
export type BatchPosition = Pick<Batch, 'createdAt' | 'id'>
const NEWEST: BatchPosition = { createdAt: Number.MAX_SAFE_INTEGER, id: '' }

type ResultPage = { readonly afterLine: number; readonly most: number; readonly keepMs: number }

function createReads(database: Reader) {
  const toIsKept = (now: string, keepMs: string) =>
    `accepted_at IS NOT NULL AND (ended_at IS NULL OR ended_at > ${toSharedNow(database, now)} - CAST(${keepMs} AS BIGINT))`
  const toColumns = (now: string) =>
    `${BATCH_COLUMNS}, ${toPlanColumns(database, toSharedNow(database, now))}`
  return {
    /** A batch that was accepted and is kept. Of one key only, if a lineage is given. */
    find: async (id: string, lineage: string | undefined, keepMs: number, now: number) => {
      const row = await database
        .prepare(
          `SELECT ${toColumns('$3')} FROM batches WHERE batches.id = $1 AND ${toIsKept('$3', '$4')}
           AND (batches.lineage = $2 OR CAST($2 AS TEXT) IS NULL)`,
        )
        .get(id, lineage ?? null, now, keepMs)
      return row && toBatch(row)
    },
    /** The latest first. Those of the same millisecond follow each other by their ids. */
    list: async (before: BatchPosition | undefined, most: number, keepMs: number, now: number) => {
      const { createdAt, id } = before ?? NEWEST
      const rows = await database
        .prepare(
          `SELECT ${toColumns('$4')} FROM batches
           WHERE created_at <= $1 AND (created_at < $1 OR batches.id < $2) AND ${toIsKept('$4', '$5')}
           ORDER BY created_at DESC, batches.id DESC LIMIT $3`,
        )
        .all(createdAt, id, most, now, keepMs)
      return rows.map(toBatch)
    },
    /** Answers are kept until the given time after the end of the batch. */
    listResults: async (id: string, { afterLine, most, keepMs }: ResultPage, now: number) =>
      (await database.prepare(toListResults(database)).all(id, afterLine, most, now, keepMs)).map(toResult),
    listRefusals: async (id: string, afterLine: number, most: number): Promise<RefusedBatchRow[]> => {
      const rows = await database
        .prepare(
          `SELECT line, reference, label, refusals FROM batch_rows WHERE batch = $1 AND line > $2 AND refusals IS NOT NULL
           ORDER BY line LIMIT $3`,
        )
        .all(id, afterLine, most)
      return rows.map(({ line, reference, label, refusals }) => ({
        line: Number(line),
        reference: toText(reference),
        label: (label as Uint8Array | null) ?? undefined,
        refusals: String(refusals),
      }))
    },
    /** Batches that were stopped and have not ended. */
    listStopping: async (now: number) => {
      const rows = await database
        .prepare(`SELECT ${toColumns('$1')} FROM batches WHERE ended_at IS NULL AND state = 'stopping'`)
        .all(now)
      return rows.map(toBatch)
    },
  }
}

const toListResults = (database: Reader, now = toSharedNow(database, '$4')) => `
  SELECT batch_rows.line AS row_line, batch_rows.reference AS row_reference, batch_rows.operation AS row_operation, label,
    refusals, CASE WHEN batch_rows.question IS NULL THEN 0 ELSE 1 END AS is_waiting, queued.*
  FROM (SELECT * FROM batch_rows WHERE batch = $1 AND line > $2 ORDER BY line LIMIT $3) AS batch_rows
  LEFT JOIN (SELECT lineage, ${toQueuedColumns(now, BATCH_GROUPS.toKeptUntil('$1', now, '$5'))} FROM queued_verifications) AS queued
    ON queued.reference = batch_rows.reference AND queued.lineage = (SELECT lineage FROM batches WHERE id = $1)
  ORDER BY batch_rows.line`

const toResult = (row: Row): BatchResult => ({
  line: Number(row.row_line),
  reference: toText(row.row_reference),
  operation: toText(row.row_operation),
  label: (row.label as Uint8Array | null) ?? undefined,
  refusals: toText(row.refusals),
  state: toText(row.state),
  outcome: toText(row.outcome),
  isRunning: Number(row.is_running) === 1,
  answer: (row.answer as Uint8Array | null) ?? undefined,
  isWaiting: Number(row.is_waiting) === 1,
})

const toText = (value: unknown) => (value === null || value === undefined ? undefined : String(value))

/** The rows first, in steps, and then the batch. */
async function deleteExpiredInTx(tx: Database, keepMs: number, now: number): Promise<number> {
  const at = toSharedNow(tx, '$1')
  const stale = await tx
    .prepare(`SELECT id FROM batches WHERE ended_at IS NULL AND ${toStale(at)} LIMIT 1`)
    .get(now)
  if (stale) await tx.prepare(BREAK).run(String(stale.id), null)
  const hasRows = 'EXISTS (SELECT 1 FROM batch_rows WHERE batch = batches.id)'
  const over = await tx
    .prepare(
      `SELECT id FROM batches WHERE ended_at IS NOT NULL AND (state = 'broken' OR ended_at <= ${at} - $2)
         AND (${hasRows} OR idempotency IS NULL OR ended_at <= ${at} - ${STORED_MS})
       ORDER BY ended_at LIMIT 1`,
    )
    .get(now, keepMs)
  if (!over) return 0
  const id = String(over.id)
  const deleted = await deleteSome(tx, 'batch_rows', 'batch = $1', id)
  if (deleted < ROWS_PER_STEP)
    await tx
      .prepare(
        `DELETE FROM batches WHERE id = $2 AND (idempotency IS NULL OR ended_at <= ${at} - ${STORED_MS})`,
      )
      .run(now, id)
  return ROWS_PER_STEP
}

/** A batch whose body arrives. */
type NewBatch = Pick<Batch, 'id' | 'keyId' | 'lineage' | 'mode'> & {
  /** The process that receives it. */
  readonly owner: string
  /** Keyed hash of the Idempotency-Key. */
  readonly idempotency?: Uint8Array | undefined
  /** Batches of one key that have not ended. */
  readonly most: number
}

/** `running`: a request with the same Idempotency-Key is being received. */
export type BegunBatch =
  | { readonly state: 'begun' | 'full' | 'running' }
  | { readonly state: 'known'; readonly batch: Batch; readonly fingerprint: Uint8Array }

/** Longer than the pause between two steps of a body that arrives fast enough. */
const STALE_MS = 60_000

const toStale = (now: string) => `state = 'receiving' AND touched_at <= ${now} - ${STALE_MS}`

async function beginBatch(tx: Database, batch: NewBatch, now: number): Promise<BegunBatch> {
  const { id, keyId, lineage, mode, owner, idempotency = null, most } = batch
  await tx.lock(`batches ${lineage}`)
  const known = idempotency && (await findKnown(tx, lineage, idempotency, now))
  if (known) return known
  const open = await tx
    .prepare(
      `SELECT COUNT(*) AS found FROM batches
       WHERE lineage = $1 AND ended_at IS NULL AND NOT (${toStale(toSharedNow(tx, '$2'))})`,
    )
    .get(lineage, now)
  if (Number(open?.found) >= most) return { state: 'full' }
  const at = toSharedNow(tx, 'CAST($7 AS BIGINT)')
  await tx
    .prepare(
      `INSERT INTO batches (id, key_id, lineage, mode, owner, idempotency, state, created_at, touched_at)
       VALUES ($1, $2, $3, $4, $5, $6, 'receiving', ${at}, ${at})`,
    )
    .run(id, keyId, lineage, mode, owner, idempotency, now)
  return { state: 'begun' }
}

/** The batch under the same Idempotency-Key. One whose process died while it was received makes room. */
async function findKnown(
  tx: Database,
  lineage: string,
  idempotency: Uint8Array,
  now: number,
): Promise<BegunBatch | undefined> {
  const at = toSharedNow(tx, '$3')
  const row = await tx
    .prepare(
      `SELECT ${BATCH_COLUMNS}, ${toPlanColumns(tx, at)}, fingerprint, CASE WHEN ${toStale(at)} THEN 1 ELSE 0 END AS is_stale
       FROM batches WHERE idempotency = $1 AND lineage = $2`,
    )
    .get(idempotency, lineage, now)
  if (!row) return undefined
  if (Number(row.is_stale) === 1) {
    await tx.prepare(BREAK).run(String(row.id), null)
    return undefined
  }
  if (row.state === 'receiving') return { state: 'running' }
  return { state: 'known', batch: toBatch(row), fingerprint: row.fingerprint as Uint8Array }
}

/** Nothing of it was accepted; its rows are deleted in steps. Of any process if the owner is null. */
const BREAK = `UPDATE batches SET state = 'broken', idempotency = NULL, ended_at = touched_at
  WHERE id = $1 AND state = 'receiving' AND (owner = $2 OR CAST($2 AS TEXT) IS NULL)`

/** False when the batch is not received by this process any more. */
async function addBatchRows(
  tx: Database,
  { id, owner }: Pick<NewBatch, 'id' | 'owner'>,
  rows: readonly NewBatchRow[],
  now: number,
): Promise<boolean> {
  const touched = await tx
    .prepare(
      `UPDATE batches SET touched_at = ${toSharedNow(tx, 'CAST($3 AS BIGINT)')}
       WHERE id = $1 AND owner = $2 AND state = 'receiving'`,
    )
    .run(id, owner, now)
  if (touched === 0) return false
  const unpack = toUnpack(tx)
  await tx
    .prepare(
      `INSERT INTO batch_rows (batch, line, reference, operation, subject, question, label, refusals)
       SELECT CAST($1 AS TEXT), ${unpack.number(0)}, ${[1, 2].map(unpack.text)}, ${[3, 4, 5].map(unpack.bytes)}, ${unpack.text(6)}
       FROM ${unpack.rows('$2')}`,
    )
    .run(id, packValues(rows.map(toValues)))
  return true
}

const toValues = ({ line, reference, operation, subject, question, label, refusals }: NewBatchRow) => [
  line,
  ...[reference, operation, subject, question, label, refusals].map((value) => value ?? null),
]
