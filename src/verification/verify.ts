import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { toBlindIndexText } from '../crypto/mac.ts'
import { AppError } from '../errors.ts'
import type { CommitParts } from '../ledger/commit.ts'
import type { GuessRefusal } from '../ledger/guess-rule.ts'
import { NotBegun } from '../sources/failover.ts'
import { type Found, NO_RECORD } from '../sources/lookup.ts'
import { PENDING_NUMBERS, SLOW_NUMBER } from '../sources/sandbox/index.ts'
import type { GuardedSource } from '../sources/source-chain.ts'
import { endAfter } from '../telemetry/tracing.ts'
import {
  askAndMatch,
  askLocal,
  DEADLINE_MS,
  type LocalOnly,
  requireSource,
  toGuessEnd,
  toKept,
} from './ask.ts'
import { AlreadyAnswered, Commits } from './commits.ts'
import { limitError, type OpenGuess } from './guess-limit.ts'
import type { IdType } from './id-type.ts'
import type { IdempotencyClaim, StoredResponse } from './idempotency.ts'
import { type Decision, isFailedGuess } from './match.ts'
import type { RunningKey } from './open-local.ts'
import { PREFERENCE_APPLIED, type Preference, readPreference } from './queue/pending-response.ts'
import { queueInstead, verifyLater } from './queue/verify-later.ts'
import { replay, toKeyUse, type VerificationResponse } from './replay.ts'
import {
  createVerification,
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
  const { idempotencyKey: header, caller } = request
  // Idempotency: the first response under a key is replayed.
  const use = header === undefined ? undefined : toKeyUse(idType, request, header, subject)
  const { key, isKnown } = use ? deps.local.idempotency.join(use) : NO_KEY
  const claim = use && key && deps.idempotency.open(use, key)
  // Guess limit: not in the sandbox, where people are synthetic.
  const guess = caller.mode === 'live' ? deps.guessLimit.open(caller, subject, toGuess(request)) : undefined
  const verification = createVerification(deps, idType, request, subject, claim)
  const commits = new Commits(verification, { claim, guess })
  try {
    if (isKnown) await commits.recall()

    // Ask and match: key, guess, intent and price are durable before a source outside this process is asked.
    const decision = await askAndMatch(verification, commits)

    // Mask: a failure has no response to store.
    const response = toStoredResponse(verification, decision)

    // Or answer later, if the key allows that and no source could answer.
    const pending = response ? undefined : await queueInstead(verification, commits, claim, decision)
    if (pending) return pending

    // Record: the outcome is durable before the caller is told.
    await recordOutcome(verification, commits, claim, decision, response)
    if (key && response) deps.local.idempotency.remember(key)

    // Answer.
    if (!response) throw (decision as { error: unknown }).error
    return { ...response, replayed: false }
  } catch (error) {
    const stored = await abandon(deps, commits, error)
    return await replay(deps, idType, request, subject, stored)
  } finally {
    if (key) deps.local.idempotency.end(key)
  }
}

const NO_KEY = { key: undefined, isKnown: false }

/** One commit: the audit row, the response under its Idempotency-Key, and the end of the guess. */
async function recordOutcome<T>(
  verification: Verification<T>,
  commits: Commits,
  claim: IdempotencyClaim | undefined,
  decision: Decision<T>,
  response: StoredResponse | undefined,
): Promise<void> {
  const { deps } = verification
  const subject = toOtherSubject(verification, decision)
  const completion = claim && response && { ...deps.idempotency.complete(claim, response), subject }
  const { error } = decision as { error?: unknown }
  await commits.end({
    entry: toOutcome(verification, decision, response, null),
    guess: toGuessEnd(verification, decision),
    toParts: (refunded) => ({
      completion,
      release: claim && !response ? deps.idempotency.toRelease(claim, error, refunded) : undefined,
      kept: toKept(verification, decision),
    }),
  })
  // The person may have been erased while the source was asked: only now the number is known.
  if (completion && subject) await deps.store.erasure.eraseLate(subject)
}

/** Gives back what is held. Resolves to the response that is stored under the Idempotency-Key, or throws the error for the caller. */
async function abandon(
  { audit }: VerificationDeps,
  commits: Commits,
  thrown: unknown,
): Promise<StoredResponse> {
  const error = thrown instanceof NotBegun ? thrown.reason : thrown
  try {
    await commits.abandon(error)
  } catch (storeFailure) {
    throw audit.reportFailure(storeFailure)
      ? new AppError('audit_unavailable', { cause: storeFailure })
      : storeFailure
  }
  if (error instanceof AlreadyAnswered) return error.stored
  throw audit.reportFailure(error) ? new AppError('audit_unavailable', { cause: error }) : error
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

/** A first try without the stored response. Then once is enough but for a rare race with another process or an erasure. */
const MAX_TRIES = 4

/**
 * A verification that asks no source outside this process: nothing is written or disclosed before its one commit. On SQLite
 * nothing is awaited before it either.
 */
function verifyLocal<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  source: LocalOnly,
): Promise<VerificationResponse> {
  deps.audit.requireHealthy()
  const subject = toBlindIndexText(deps.subjectKey, idType.kind, request.number)
  const { idempotencyKey: header, caller } = request
  const key =
    header === undefined
      ? undefined
      : deps.local.idempotency.begin(toKeyUse(idType, request, header, subject))
  // The guess limit does not apply in the sandbox, where people are synthetic.
  const guess = caller.mode === 'live' ? deps.guessLimit.open(caller, subject, toGuess(request)) : undefined
  const running: Running<T> = {
    deps,
    idType,
    request,
    source,
    subject,
    key,
    guess,
    tries: 0,
    hasLooked: !key,
  }
  const end = (response: VerificationResponse) => {
    leave(running)
    return response
  }
  const fail = (error: unknown): never => {
    leave(running)
    throw deps.audit.reportFailure(error) ? new AppError('audit_unavailable', { cause: error }) : error
  }
  try {
    return look(running).then(end, fail)
  } catch (error) {
    return fail(error)
  }
}

/** A verification under way in this process. */
type Running<T> = {
  readonly deps: VerificationDeps
  readonly idType: IdType<T>
  readonly request: VerificationRequest
  readonly source: LocalOnly
  readonly subject: string
  readonly key: RunningKey | undefined
  readonly guess: OpenGuess | undefined
  tries: number
  /** Whether the stored response under the Idempotency-Key was looked up. */
  hasLooked: boolean
}

function leave<T>({ deps: { local, guessLimit }, key, guess }: Running<T>): void {
  if (key) local.idempotency.end(key)
  // Something to settle is left only if an identical guess of another kind of key was reserved.
  const settled = guess && guessLimit.leave(guess, false)
  if (settled) void guessLimit.settle(settled).catch(() => {})
}

/** Look: the record, and the stored response under an Idempotency-Key. */
function look<T extends object>(running: Running<T>): Promise<VerificationResponse> {
  if (running.tries++ === MAX_TRIES) throw new AppError('idempotency_in_progress')
  const found = lookUp(running)
  if (!(found instanceof Promise)) return decide(running, found)
  const span = running.request.trace?.startStep('look_up')
  return endAfter(span, found).then((ready) => decide(running, ready))
}

/** Match and mask, in memory. */
function decide<T extends object>(running: Running<T>, found: Found): Promise<VerificationResponse> {
  const { deps, idType, request, source, subject, key } = running
  const stored = key && deps.local.idempotency.read(key, found.answer)
  if (stored) return replay(deps, idType, request, subject, stored)
  const verification = createVerification(deps, idType, request, subject, undefined)
  const decision = askLocal(verification, source, found.record)
  return decision instanceof Promise
    ? decision.then((ready) => record(running, found, verification, ready))
    : record(running, found, verification, decision)
}

/** Record: the limits, the stored response and the audit row, in one commit. Then answer. */
function record<T extends object>(
  running: Running<T>,
  found: Found,
  verification: Verification<T>,
  decision: Decision<T>,
): Promise<VerificationResponse> {
  const response = toStoredResponse(verification, decision)
  // A failure is not stored, so its commit would not find an earlier response.
  if (!response && !running.hasLooked) return look(running)
  const entry = toOutcome(verification, decision, response, verification.startedAt)
  const check = toCheck(running, found, decision, response)
  const span = running.request.trace?.startStep('commit')
  return endAfter(span, running.deps.audit.recordWith(check, [entry])).then((refusal) => {
    // What was read has changed before the commit.
    if (refusal === 'changed') return look(running)
    if (refusal) throw limitError(refusal as GuessRefusal)
    if (!response) throw (decision as { error: unknown }).error
    return { ...response, replayed: false }
  })
}

const NOTHING: Found = { record: NO_RECORD, answer: undefined }

/**
 * A stored response is not looked up in the first try, unless it is likely to exist: most Idempotency-Keys are used once, and
 * the commit finds out if there is a response.
 */
function lookUp<T>(running: Running<T>): Found | Promise<Found> {
  const { deps, idType, request, source, key } = running
  const record = source.local.toQuestion?.(idType.kind, request.number)
  const isExpected = running.tries > 1 || (key && deps.local.idempotency.isLikelyStored(key))
  running.hasLooked ||= isExpected === true
  const answer = running.hasLooked ? key : undefined
  return record || answer ? deps.local.lookups.find({ record, answer }) : NOTHING
}

function toCheck<T>(
  { deps, request: { caller }, subject, key, guess }: Running<T>,
  { record: { row, subject: record } }: Found,
  decision: Decision<T>,
  response: StoredResponse | undefined,
): CommitParts {
  // Only a verified response contains the record.
  const held = row && 'record' in decision ? Buffer.from(record).toString('hex') : undefined
  const isWrong = isFailedGuess(decision)
  if (guess) guess.isFailed ||= isWrong
  return {
    guess: guess && {
      subject,
      keyId: caller.lineage,
      isWrong,
      maxPeople: caller.subjectsPerDay,
      attempt: guess,
    },
    answer: key && response && deps.local.idempotency.toAnswer(key, response, held),
  }
}
