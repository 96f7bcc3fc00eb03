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
  /** Calls of the same payer that were counted and not billed. */
  readonly refunded: number
}

/** More than any budget: the response was delivered and erased, and must not be paid for again. */
export const NO_PAID_CALLS_LEFT = 1_000_000

const MINE = 'key_id = $1 AND operation = $2 AND name = $3 AND owner = $4'

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
