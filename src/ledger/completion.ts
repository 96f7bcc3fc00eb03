import type { Database } from '../database/database.ts'
import type { ClaimId } from './idempotency-table.ts'

/** The first response under an Idempotency-Key, stored in the same commit as its audit rows. */
export type Completion = {
  readonly claim: ClaimId
  readonly sealed: Uint8Array
  /** Until when the response is kept. */
  readonly expiresAt: number
  /** Keyed hash of the number in the response, where only the response tells it: an erasure finds it by this. */
  readonly subject?: Uint8Array | undefined
}

const MINE = 'key_id = $1 AND operation = $2 AND name = $3 AND owner = $4'

/** Stores a response whose Idempotency-Key was claimed before. Changes nothing if the claim was lost. */
export const COMPLETE = `UPDATE idempotency SET sealed = $5, expires_at = $6, subject = COALESCE($7, subject) WHERE ${MINE}`

/** Stores responses whose Idempotency-Key was claimed before. Returns the indexes of those whose claim was lost. */
export async function complete(tx: Database, completions: readonly Completion[]): Promise<number[]> {
  const store = tx.prepare(COMPLETE)
  const late: number[] = []
  for (const [index, { claim, sealed, expiresAt, subject = null }] of completions.entries()) {
    const { keyId, operation, name, owner } = claim
    if ((await store.run(keyId, operation, name, owner, sealed, expiresAt, subject)) === 0) late.push(index)
  }
  return late
}

/** Whether the claim is still held. In PostgreSQL it then stays held until the end of the transaction. */
export async function holdsClaim(tx: Database, { keyId, operation, name, owner }: ClaimId): Promise<boolean> {
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE' : ''
  const held = tx.prepare(`SELECT 1 FROM idempotency WHERE ${MINE} AND sealed IS NULL ${lock}`)
  return (await held.get(keyId, operation, name, owner)) !== undefined
}
