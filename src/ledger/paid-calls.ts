import type { Database } from '../database/database.ts'
import type { ClaimId } from './idempotency-table.ts'
import type { Lease } from './queue-rows.ts'

/** What pays for a call: an Idempotency-Key, or a verification in the queue. */
export type Payer = ClaimId | Lease

/** A paid call that is about to be made. */
export type PaidCall = {
  readonly payer: Payer
  /** Paid calls that the payer may make. */
  readonly most: number
  /** The count is kept at least until then. */
  readonly expiresAt: number
}

/** More than any budget: the response was delivered and erased, and must not be paid for again. */
export const NO_PAID_CALLS_LEFT = 1_000_000

const MINE = 'key_id = $1 AND operation = $2 AND name = $3 AND owner = $4'

/** Counts a call. False when the budget is used up or another request has taken the claim. */
export async function countPaidCall(tx: Database, { payer, most, expiresAt }: PaidCall): Promise<boolean> {
  if ('lease' in payer) return countForQueued(tx, payer, most)
  const { keyId, operation, name, owner } = payer
  const changed = await tx
    .prepare(
      `UPDATE idempotency SET paid_calls = paid_calls + 1,
         expires_at = CASE WHEN expires_at < $6 THEN $6 ELSE expires_at END
       WHERE ${MINE} AND sealed IS NULL AND paid_calls < $5`,
    )
    .run(keyId, operation, name, owner, most, expiresAt)
  return changed > 0
}

async function countForQueued(tx: Database, { reference, lease }: Lease, most: number): Promise<boolean> {
  const changed = await tx
    .prepare(
      `UPDATE queued_verifications SET paid_calls = paid_calls + 1
       WHERE reference = $1 AND lease = $2 AND due_at IS NOT NULL AND paid_calls < $3`,
    )
    .run(reference, lease, most)
  return changed > 0
}

/** Uncounts a call that was not billed. A claim that was taken over keeps its count: too high is safe, too low is not. */
export async function refundPaidCall(tx: Database, payer: Payer): Promise<void> {
  if ('lease' in payer) {
    // The lease may have ended with the attempt. The id of the refund is used once, and the count belongs to this verification.
    await tx
      .prepare(
        'UPDATE queued_verifications SET paid_calls = paid_calls - 1 WHERE reference = $1 AND paid_calls > 0',
      )
      .run(payer.reference)
    return
  }
  const { keyId, operation, name, owner } = payer
  await tx
    .prepare(`UPDATE idempotency SET paid_calls = paid_calls - 1 WHERE ${MINE} AND paid_calls > 0`)
    .run(keyId, operation, name, owner)
}
