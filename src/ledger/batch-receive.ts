import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { BATCH_COLUMNS, type Batch, type NewBatchRow, toBatch, toPlanColumns } from './batch.ts'
import { endIfDone } from './batch-end.ts'
import { packValues, toUnpack } from './queue-rows.ts'

/** A batch whose body arrives. */
export type NewBatch = Pick<Batch, 'id' | 'keyId' | 'lineage' | 'mode'> & {
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

export type ReceivedBatch = {
  readonly rows: number
  readonly refused: number
  /** Keyed hash of the body. */
  readonly fingerprint: Uint8Array
}

/** Longer than the pause between two steps of a body that arrives fast enough. */
const STALE_MS = 60_000

export const toStale = (now: string) => `state = 'receiving' AND touched_at <= ${now} - ${STALE_MS}`

export async function beginBatch(tx: Database, batch: NewBatch, now: number): Promise<BegunBatch> {
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
export const BREAK = `UPDATE batches SET state = 'broken', idempotency = NULL, ended_at = touched_at
  WHERE id = $1 AND state = 'receiving' AND (owner = $2 OR CAST($2 AS TEXT) IS NULL)`

/** False when the batch is not received by this process any more. */
export async function addBatchRows(
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

/** From now on its rows are verified. A batch without a good row ends at once. */
export async function acceptBatch(
  tx: Database,
  { id, owner }: Pick<NewBatch, 'id' | 'owner'>,
  { rows, refused, fingerprint }: ReceivedBatch,
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
