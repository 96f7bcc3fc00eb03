import type { AppError } from '../../errors.ts'
import { type IdempotencyClaim, isSourceFailure } from '../idempotency.ts'
import type { Decision } from '../match.ts'
import type { VerificationResponse } from '../replay.ts'
import { toAttempt, type Verification } from '../verification.ts'
import { enqueue } from './enqueue.ts'
import { toCodeResponse, toPendingHeaders } from './pending-response.ts'
import { toRetryDelay } from './retry-delay.ts'

/**
 * For a key that was made with --async-when-down: a verification that no source could answer becomes pending, under the same
 * reference and Idempotency-Key. Undefined where it stays a failure: another failure, no paid calls left, or a full queue.
 */
export async function queueInstead<T>(
  verification: Verification<T>,
  claim: IdempotencyClaim | undefined,
  decision: Decision<T>,
): Promise<VerificationResponse | undefined> {
  const { deps, request, reference, budget, paid } = verification
  if (!request.caller.asyncWhenDown || !('error' in decision)) return undefined
  const { error } = decision
  if (!isSourceFailure(error) || (error as AppError).paidCallsUsedUp) return undefined
  await Promise.all(budget?.paidCalls.refunds ?? [])
  const paidCalls = budget?.paidCalls.used ?? paid.calls
  // As in attempt.ts.
  const delayMs = toRetryDelay(deps.queue.settings, paid.calls > 0 ? Number.POSITIVE_INFINITY : 1)
  if (paidCalls >= deps.queue.settings.paidCalls) return undefined
  const entry = toAttempt(verification, decision.outcome)
  if (await enqueue(verification, { claim, delayMs, paidCalls }, entry)) return undefined
  return {
    ...toCodeResponse('pending', reference, request.requestId),
    ...{
      replayed: false,
      headers: await toPendingHeaders(deps.queue, { reference, isRunning: false, dueMs: delayMs }),
    },
  }
}
