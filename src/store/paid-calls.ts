import type { Database } from './database.ts'
import type { ClaimId } from './idempotency-table.ts'

/** A paid call that is about to be made under an idempotency claim. */
export type PaidCall = {
  readonly claim: ClaimId
  /** Paid calls that the Idempotency-Key may make. */
  readonly most: number
  /** The count is kept at least until then. */
  readonly expiresAt: number
}

/** More than any budget: the response was delivered and erased, and must not be paid for again. */
export const NO_PAID_CALLS_LEFT = 1_000_000

const MINE = 'key_id = $1 AND operation = $2 AND name = $3 AND owner = $4'

/** Counts a call. False when the budget is used up or another request has taken the claim. */
export async function countPaidCall(
  inside: Database,
  { claim: { keyId, operation, name, owner }, most, expiresAt }: PaidCall,
): Promise<boolean> {
  const changed = await inside
    .prepare(
      `UPDATE idempotency SET paid_calls = paid_calls + 1,
         expires_at = CASE WHEN expires_at < $6 THEN $6 ELSE expires_at END
       WHERE ${MINE} AND sealed IS NULL AND paid_calls < $5`,
    )
    .run(keyId, operation, name, owner, most, expiresAt)
  return changed > 0
}

/** Uncounts a call that was not billed. A claim that was taken over keeps its count: too high is safe, too low is not. */
export async function refundPaidCall(
  inside: Database,
  { keyId, operation, name, owner }: ClaimId,
): Promise<void> {
  await inside
    .prepare(`UPDATE idempotency SET paid_calls = paid_calls - 1 WHERE ${MINE} AND paid_calls > 0`)
    .run(keyId, operation, name, owner)
}
