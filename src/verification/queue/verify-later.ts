import type { Mode } from '../../contract/scope.ts'
import { steadyNow } from '../../contract/time.ts'
import { toBlindIndexText } from '../../crypto/mac.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../keys/caller.ts'
import { STORED_MS } from '../../ledger/idempotency-table.ts'
import type { Enqueue } from '../../ledger/queue-rows.ts'
import { toGuessEnd } from '../ask.ts'
import type { Commits } from '../commits.ts'
import type { IdType } from '../id-type.ts'
import { type IdempotencyClaim, isSourceFailure, type StoredResponse } from '../idempotency.ts'
import type { Decision } from '../match.ts'
import { replay, toKeyUse, type VerificationResponse } from '../replay.ts'
import {
  createVerification,
  toAttempt,
  toQueued,
  type Verification,
  type VerificationDeps,
} from '../verification.ts'
import type { VerificationRequest } from '../verification-request.ts'
import type { QueueDeps, QueueSettings } from './open-queue.ts'
import { toCodeResponse, toPendingHeaders, toRetryHeaders } from './pending-response.ts'
import { openAnswer, sealQuestion } from './sealed-question.ts'

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
  return toPending(verification, delayMs)
}

const toPending = async <T>(
  { deps, request, reference }: Verification<T>,
  dueMs: number,
): Promise<VerificationResponse> => ({
  ...toCodeResponse('pending', reference, request.requestId),
  replayed: false,
  headers: await toPendingHeaders(deps.queue, { reference, isRunning: false, dueMs }),
})

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
  const { deps, auditFields } = verification
  const { caller } = verification.request
  try {
    // Counts nothing: each attempt is counted when it is made.
    if (caller.mode === 'live') await deps.guessLimit.check(caller, auditFields.subject ?? '')
    const change = toEnqueue(verification, { claim, delayMs, paidCalls: claim?.used ?? 0 })
    const refusal = await deps.audit.recordChange(change, [toQueued(verification)])
    if (!refusal) deps.queue.signals.wake()
    if (refusal) throw new AppError(refusal === 'queue_full' ? 'queue_full' : 'idempotency_in_progress')
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
    if (found?.answer) return openAnswer(keyring, reference, found.answer, lineage)
    if (isStopping || found?.state !== 'pending') return undefined
  }
}

/**
 * For a key that was made with --async-when-down: a verification that no source could answer becomes pending, under the same
 * reference and Idempotency-Key. Undefined where it stays a failure: another failure, no paid calls left, or a full queue.
 */
export async function queueInstead<T>(
  verification: Verification<T>,
  commits: Commits,
  claim: IdempotencyClaim | undefined,
  decision: Decision<T>,
): Promise<VerificationResponse | undefined> {
  const { deps, request, budget, paid } = verification
  if (!request.caller.asyncWhenDown || !('error' in decision)) return undefined
  const { error } = decision
  if (!isSourceFailure(error) || (error as AppError).paidCallsUsedUp) return undefined
  // Only then the paid calls of earlier requests with the same key are known.
  await commits.begin()
  const paidCalls = budget?.used ?? paid.calls
  const delayMs = toRetryDelay(deps.queue.settings, paid.calls > 0 ? Number.POSITIVE_INFINITY : 1)
  if (paidCalls >= deps.queue.settings.paidCalls) return undefined
  const entry = toAttempt(verification, decision.outcome)
  const change = toEnqueue(verification, { claim, delayMs, paidCalls })
  const ending = { entry, guess: toGuessEnd(verification, decision), toChange: () => change }
  if (await commits.end(ending)) return undefined
  deps.queue.signals.wake()
  return toPending(verification, delayMs)
}

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

/** Adds the verification to the queue, with the response under its Idempotency-Key. */
function toEnqueue<T>(verification: Verification<T>, { claim, delayMs, paidCalls }: EnqueueOptions): Enqueue {
  const { deps, idType, request, reference, auditFields } = verification
  const { caller, requestId } = request
  const { settings, keyring } = deps.queue
  const lifeMs = toLifeMs(settings, caller.mode)
  const response = toCodeResponse('pending', reference, requestId)
  return {
    kind: 'enqueue',
    limits: settings.limits,
    completion: claim && {
      ...deps.idempotency.complete(claim, response),
      expiresAt: steadyNow() + lifeMs + STORED_MS,
    },
    row: {
      reference,
      keyId: caller.keyId,
      lineage: caller.lineage,
      lane: 'single',
      mode: caller.mode,
      operation: idType.operation,
      delayMs,
      lifeMs,
      paidCalls,
      idempotency: claim?.id.name,
      subject: Buffer.from(auditFields.subject ?? '', 'hex'),
      question: sealQuestion(keyring, reference, request, claim?.fingerprint, verification.seen),
    },
  }
}

/** The random part of a delay, so that verifications that failed together are not retried together. */
const JITTER = 0.25

/** The time until the next attempt: it doubles with each attempt that failed. */
export function toRetryDelay(
  { firstRetryMs, longestRetryMs }: Pick<QueueSettings, 'firstRetryMs' | 'longestRetryMs'>,
  failedAttempts: number,
  random: () => number = Math.random,
): number {
  const doublings = Math.min(Math.max(failedAttempts - 1, 0), 40)
  const delayMs = Math.min(firstRetryMs * 2 ** doublings, longestRetryMs)
  return Math.round(delayMs * (1 - JITTER * random()))
}
