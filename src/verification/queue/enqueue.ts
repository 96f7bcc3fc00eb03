import type { AuditEntry } from '../../audit/row.ts'
import type { Mode } from '../../contract/scope.ts'
import { steadyNow } from '../../contract/time.ts'
import { AppError } from '../../errors.ts'
import { STORED_MS } from '../../ledger/idempotency-table.ts'
import type { Enqueue, QueueRefusal } from '../../ledger/queue-change.ts'
import type { IdempotencyClaim } from '../idempotency.ts'
import type { Verification } from '../verification.ts'
import type { VerificationDeps } from '../verification-deps.ts'
import { toCodeResponse } from './pending-response.ts'
import type { QueueSettings } from './queue-deps.ts'
import { sealQuestion } from './sealed-question.ts'

/**
 * A sandbox verification ends soon, so that a client can rehearse `expired`. Longer than the first delay and a lease in the
 * sandbox together, so that it survives the death of the process that works on it.
 */
const TEST_LIMIT_MS = 30_000

/** How long a verification may be pending. */
export const toLifeMs = ({ limitMs }: Pick<QueueSettings, 'limitMs'>, mode: Mode): number =>
  mode === 'test' ? Math.min(TEST_LIMIT_MS, limitMs) : limitMs

type EnqueueOptions = {
  readonly claim: IdempotencyClaim | undefined
  readonly delayMs: number
  /** Paid calls that were made before. */
  readonly paidCalls: number
}

/** Adds the verification to the queue, in one commit with its audit row and the response under its Idempotency-Key. */
export async function enqueue<T>(
  verification: Verification<T>,
  { claim, delayMs, paidCalls }: EnqueueOptions,
  entry: AuditEntry,
): Promise<QueueRefusal | undefined> {
  const { deps, idType, request, reference, auditFields } = verification
  const { caller, requestId } = request
  const { settings, keyring, signals } = deps.queue
  const lifeMs = toLifeMs(settings, caller.mode)
  const response = toCodeResponse('pending', reference, requestId)
  const change: Enqueue = {
    kind: 'enqueue',
    limits: settings.limits,
    completion: claim && {
      ...deps.idempotency.complete(claim, response),
      expiresAt: steadyNow() + lifeMs + STORED_MS,
    },
    row: {
      ...{ reference, keyId: caller.keyId, lineage: caller.lineage },
      ...{ lane: 'single', mode: caller.mode, operation: idType.operation },
      ...{ delayMs, lifeMs, paidCalls, idempotency: claim?.id.name },
      subject: Buffer.from(auditFields.subject ?? '', 'hex'),
      question: sealQuestion(keyring, reference, request),
    },
  }
  const refusal = await deps.audit.recordChange(change, [entry])
  if (!refusal) signals.wake()
  return refusal
}

export const toQueueError = (refusal: QueueRefusal): AppError =>
  new AppError(refusal === 'queue_full' ? 'queue_full' : 'idempotency_in_progress')

/** Refuses a caller who has reached the guess limit or the quota of people. Counts nothing: each attempt is counted when it is made. */
export async function refuseBeyondLimits<T>(
  { guessLimit }: VerificationDeps,
  { request: { caller }, auditFields }: Verification<T>,
): Promise<void> {
  if (caller.mode === 'live') await guessLimit.check(caller, auditFields.subject ?? '')
}
