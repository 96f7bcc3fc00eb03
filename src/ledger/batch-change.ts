import type { Database } from '../database/database.ts'
import { acceptBatch } from './batch-receive.ts'
import type { BatchChange } from './queue-change.ts'
import { packValues, toUnpack } from './queue-rows.ts'

export type BatchLock = { readonly state: string; readonly owner: string }

export const toBatchId = (change: BatchChange): string =>
  change.kind === 'accept_batch' ? change.batch.id : change.id

/**
 * By id, the batches that are changed. In PostgreSQL they stay locked until the end of the transaction, together with those whose
 * rows end in it: all in one order, so that two transactions do not wait for each other.
 */
export async function lockBatches(
  tx: Database,
  changes: readonly BatchChange[],
  rows: Iterable<{ readonly batch: string | null }>,
): Promise<Map<string, BatchLock>> {
  if (changes.length === 0) return new Map()
  const ids = new Set([...changes.map(toBatchId), ...[...rows].flatMap(({ batch }) => batch ?? [])])
  const { rows: packed, text } = toUnpack(tx)
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE OF batches' : ''
  const found = await tx
    .prepare(
      `SELECT batches.id, state, owner FROM ${packed('$1')} JOIN batches ON batches.id = ${text(0)} ORDER BY batches.id ${lock}`,
    )
    .all(packValues([...ids].map((id) => [id])))
  return new Map(
    found.map(({ id, state, owner }) => [String(id), { state: String(state), owner: String(owner) }]),
  )
}

/** The batch is locked, and may be changed. */
export async function writeBatchChange(tx: Database, change: BatchChange, now: number): Promise<void> {
  if (change.kind === 'accept_batch') await acceptBatch(tx, change.batch, change.received, now)
  else await tx.prepare(`UPDATE batches SET state = 'stopping' WHERE id = $1`).run(change.id)
}
