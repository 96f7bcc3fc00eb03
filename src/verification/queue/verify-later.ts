import { steadyNow } from '../../contract/time.ts'
import { toBlindIndexText } from '../../crypto/blind-index.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../keys/caller.ts'
import type { IdType } from '../id-type.ts'
import type { IdempotencyClaim, StoredResponse } from '../idempotency.ts'
import { replay, toKeyUse, type VerificationResponse } from '../replay.ts'
import { createVerification, toQueued, type Verification } from '../verification.ts'
import type { VerificationDeps } from '../verification-deps.ts'
import type { VerificationRequest } from '../verification-request.ts'
import { enqueue, refuseBeyondLimits, toQueueError } from './enqueue.ts'
import { toCodeResponse, toPendingHeaders, toRetryHeaders } from './pending-response.ts'
import type { QueueDeps } from './queue-deps.ts'
import { openAnswer } from './sealed-question.ts'

type LaterOptions = {
  /** How long the caller waits for the answer before it is told `pending`. */
  readonly waitMs: number
  /** Before the first attempt. */
  readonly delayMs: number
}

/** A verification through the queue: the answer if it is there in time, else `pending`. */
export async function verifyLater<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  { waitMs, delayMs }: LaterOptions,
): Promise<VerificationResponse> {
  deps.audit.requireHealthy()
  const subject = toBlindIndexText(deps.subjectKey, idType.kind, request.number)
  // Where too many wait already, the caller is told `pending` at once.
  const { place, caller } = request
  const until = performance.now() + (waitMs > 0 && place?.mayWait() === false ? 0 : waitMs)
  const wait = (reference: string) => {
    const look = () => waitForAnswer(deps.queue, caller, reference, until)
    return place ? place.whileWaiting(look) : look()
  }
  const begun = await begin(deps, idType, request, subject)
  if ('stored' in begun) {
    const { outcome, reference } = begun.stored
    const answer = outcome === 'pending' ? await wait(reference) : undefined
    const { stored } = answer ? { stored: answer } : begun
    return replay(deps, idType, request, subject, stored)
  }
  const verification = createVerification(deps, idType, request, subject, undefined)
  await add(verification, begun.claim, delayMs)
  const { reference } = verification
  const answer = await wait(reference)
  if (answer) return { ...answer, replayed: false, headers: toRetryHeaders(answer) }
  return {
    ...toCodeResponse('pending', reference, request.requestId),
    ...{
      replayed: false,
      headers: await toPendingHeaders(deps.queue, { reference, isRunning: false, dueMs: delayMs }),
    },
  }
}

async function begin<T>(
  { idempotency }: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  subject: string,
) {
  if (request.idempotencyKey === undefined) return { claim: undefined }
  return idempotency.begin(toKeyUse(idType, request, request.idempotencyKey, subject))
}

/** Gives back the Idempotency-Key if the verification cannot be added. */
async function add<T>(
  verification: Verification<T>,
  claim: IdempotencyClaim | undefined,
  delayMs: number,
): Promise<void> {
  const { deps } = verification
  try {
    await refuseBeyondLimits(deps, verification)
    const options = { claim, delayMs, paidCalls: claim?.paidCalls.used ?? 0 }
    const refusal = await enqueue(verification, options, toQueued(verification))
    if (refusal) throw toQueueError(refusal)
  } catch (error) {
    if (claim) await deps.idempotency.release(claim, error).catch(() => {})
    throw deps.audit.reportFailure(error) ? new AppError('audit_unavailable', { cause: error }) : error
  }
}

/** The answer, if the verification is answered before `until` (monotonic). */
async function waitForAnswer(
  { table, keyring, signals }: QueueDeps,
  { lineage }: Pick<Caller, 'lineage'>,
  reference: string,
  until: number,
): Promise<StoredResponse | undefined> {
  for (;;) {
    const leftMs = until - performance.now()
    if (leftMs <= 0) return undefined
    const isStopping = await signals.waitForEnd(reference, leftMs)
    const found = await table.find(reference, lineage, steadyNow())
    if (found?.answer) return openAnswer(keyring, reference, found.answer)
    if (isStopping || found?.state !== 'pending') return undefined
  }
}
