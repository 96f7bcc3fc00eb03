import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { toBlindIndexText } from '../crypto/mac.ts'
import { AppError } from '../errors.ts'
import { PENDING_NUMBERS, SLOW_NUMBER } from '../sources/sandbox/index.ts'
import type { GuardedSource } from '../sources/source-chain.ts'
import { endAfter } from '../telemetry/tracing.ts'
import { askAndMatch, DEADLINE_MS, keepForReuse, type LocalOnly, requireSource } from './ask.ts'
import type { Reservation } from './guess-limit.ts'
import type { IdType } from './id-type.ts'
import type { IdempotencyClaim, StoredResponse } from './idempotency.ts'
import { type Decision, isFailedGuess } from './match.ts'
import { PREFERENCE_APPLIED, type Preference, readPreference } from './queue/pending-response.ts'
import { queueInstead, verifyLater } from './queue/verify-later.ts'
import { replay, toKeyUse, type VerificationResponse } from './replay.ts'
import {
  createVerification,
  toIntent,
  toOtherSubject,
  toOutcome,
  toStoredResponse,
  type Verification,
  type VerificationDeps,
} from './verification.ts'
import {
  type Incoming,
  type Inputs,
  toGuess,
  toVerificationRequest,
  type VerificationRequest,
} from './verification-request.ts'
import { verifyLocal } from './verify-local.ts'

/**
 * A verification, the same for test and live keys: now, or through the queue if the caller prefers that. Before it, http/guard.ts
 * authenticated the key and http/input.ts read and validated the body.
 */
export function verify<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  incoming: Incoming,
  inputs: Inputs,
): Promise<VerificationResponse> {
  const request = toVerificationRequest(incoming, inputs, deps.config.purposes)
  requireSource(deps.sources, idType, request)
  const { prefer } = incoming.headers
  const { isAsync, wait } = prefer === undefined ? NO_PREFERENCE : readPreference(String(prefer))
  const sandbox = request.caller.mode === 'test' ? toSandboxDelay(request, incoming.headers, wait) : undefined
  const delayMs = sandbox === 'pending' ? SANDBOX_DELAY_MS : 0
  if (isAsync) return answerLater(deps, idType, request, wait, delayMs)
  if (sandbox === 'pending') return verifyLater(deps, idType, request, { waitMs: 0, delayMs })
  return sandbox === 'slow' ? verifySlowly(deps, idType, request) : verifyNow(deps, idType, request)
}

const NO_PREFERENCE: Preference = { isAsync: false, wait: undefined }
/** How long the numbers of the sandbox that are answered later take. */
const SANDBOX_DELAY_MS = 5000

/** Some numbers of the sandbox are answered later, or as late as a real time-out. */
function toSandboxDelay(
  { number }: VerificationRequest,
  { 'x-sandbox-delay': delay }: IncomingHttpHeaders,
  wait: number | undefined,
): 'pending' | 'slow' | undefined {
  if (PENDING_NUMBERS.includes(number)) return 'pending'
  return number === SLOW_NUMBER && (wait !== undefined || delay === 'real') ? 'slow' : undefined
}

function verifyNow<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
): Promise<VerificationResponse> {
  const source = findLocalSource(deps.sources[request.caller.mode][idType.kind])
  // Only the other way can make it pending.
  const isLocal = source && !request.caller.asyncWhenDown
  return isLocal ? verifyLocal(deps, idType, request, source) : verifyExternal(deps, idType, request)
}

/** The source, where it is the only one and inside this process. */
function findLocalSource(sources: readonly GuardedSource[]): LocalOnly | undefined {
  const only = sources.length === 1 ? sources[0]?.source : undefined
  return only?.local && (only as LocalOnly)
}

/** A verification that may ask a source outside this process, from top to bottom. */
async function verifyExternal<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
): Promise<VerificationResponse> {
  deps.audit.requireHealthy()
  if (request.place?.mayWait() === false) throw new AppError('overloaded')
  const subject = toBlindIndexText(deps.subjectKey, idType.kind, request.number)
  const held: Held = { claim: undefined, reservation: undefined }
  try {
    // Idempotency: the first response under a key is replayed.
    if (request.idempotencyKey !== undefined) {
      const use = toKeyUse(idType, request, request.idempotencyKey, subject)
      const begun = await endAfter(request.trace?.startStep('idempotency'), deps.idempotency.begin(use))
      if ('stored' in begun) return await replay(deps, idType, request, subject, begun.stored)
      held.claim = begun.claim
    }

    // Guess limit: not in the sandbox, where people are synthetic.
    if (request.caller.mode === 'live')
      held.reservation = await endAfter(
        request.trace?.startStep('guess_limit'),
        deps.guessLimit.reserve(request.caller, subject, toGuess(request)),
      )

    // Ask and match: the intent is durable before a source outside this process is asked.
    const verification = createVerification(deps, idType, request, subject, held.claim)
    await endAfter(request.trace?.startStep('commit_intent'), deps.audit.record([toIntent(verification)]))
    const decision = await askAndMatch(verification)

    // Mask: a failure has no response to store.
    const response = toStoredResponse(verification, decision)

    // Or answer later, if the key allows that and no source could answer.
    const pending = response ? undefined : await queueInstead(verification, held.claim, decision)
    if (pending) {
      held.claim = undefined
      await settle(held, decision)
      return pending
    }

    // Record: the outcome is durable before the caller is told.
    await recordOutcome(verification, held.claim, decision, response)
    if (held.reservation) await settle(held, decision)

    // Answer.
    if (!response) throw (decision as { error: unknown }).error
    return { ...response, replayed: false }
  } catch (error) {
    throw await abandon(deps, held, error)
  }
}

/** What must be given back when a verification fails. */
type Held = { claim: IdempotencyClaim | undefined; reservation: Reservation | undefined }

/** One commit: the audit rows, and the response under its Idempotency-Key. */
async function recordOutcome<T>(
  verification: Verification<T>,
  claim: IdempotencyClaim | undefined,
  decision: Decision<T>,
  response: StoredResponse | undefined,
): Promise<void> {
  const { deps, request } = verification
  const entry = toOutcome(verification, decision, response, null)
  const subject = toOtherSubject(verification, decision)
  const stored = claim && response && { ...deps.idempotency.complete(claim, response), subject }
  await endAfter(request.trace?.startStep('commit'), deps.audit.record([entry], stored))
  // The person may have been erased while the source was asked: only now the number is known.
  if (stored && subject) await deps.store.erasure.eraseLate(subject)
  const keeping = keepForReuse(verification, decision)
  await (request.place ? request.place.spare(keeping) : keeping)
}

/** A wrong guess counts; any other outcome takes the reservation back. */
async function settle<T>(held: Held, decision: Decision<T>): Promise<void> {
  const { reservation } = held
  held.reservation = undefined
  await reservation?.settle(isFailedGuess(decision))
}

/** Gives back what is held. Returns the error for the caller. */
async function abandon(
  { audit, idempotency }: VerificationDeps,
  { claim, reservation }: Held,
  thrown: unknown,
): Promise<unknown> {
  let error = thrown
  try {
    await reservation?.settle(false)
  } catch (storeFailure) {
    error = storeFailure
  }
  if (claim) await idempotency.release(claim, error).catch(() => {})
  return audit.reportFailure(error) ? new AppError('audit_unavailable', { cause: error }) : error
}

function answerLater<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  wait = 0,
  delayMs = 0,
): Promise<VerificationResponse> {
  const waitMs = Math.min(wait * 1000, deps.queue.settings.maxWaitMs)
  return verifyLater(deps, idType, request, { waitMs, delayMs }).then(withPreferenceApplied)
}

async function verifySlowly<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
): Promise<VerificationResponse> {
  const { place } = request
  if (place?.mayWait() === false) throw new AppError('overloaded')
  const wait = () => pause(DEADLINE_MS)
  await (place ? place.whileWaiting(wait) : wait())
  return verifyNow(deps, idType, request)
}

const withPreferenceApplied = (response: VerificationResponse): VerificationResponse =>
  response.status === 202
    ? { ...response, headers: [...PREFERENCE_APPLIED, ...(response.headers ?? [])] }
    : response
