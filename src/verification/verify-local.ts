import { toBlindIndexText } from '../crypto/mac.ts'
import { AppError } from '../errors.ts'
import type { CommitCheck } from '../ledger/commit.ts'
import { type Found, NO_RECORD } from '../sources/lookup.ts'
import { endAfter } from '../telemetry/tracing.ts'
import { askLocal, type LocalOnly } from './ask.ts'
import { limitError } from './guess-limit.ts'
import type { IdType } from './id-type.ts'
import type { StoredResponse } from './idempotency.ts'
import { type Decision, isFailedGuess } from './match.ts'
import type { OpenGuess, RunningKey } from './open-local.ts'
import { replay, toKeyUse, type VerificationResponse } from './replay.ts'
import {
  createVerification,
  toOutcome,
  toStoredResponse,
  type Verification,
  type VerificationDeps,
} from './verification.ts'
import { toGuess, type VerificationRequest } from './verification-request.ts'

/** A first try without the stored response. Then once is enough but for a rare race with another process or an erasure. */
const MAX_TRIES = 4

/**
 * A verification that asks no source outside this process: nothing is written or disclosed before its one commit. On SQLite
 * nothing is awaited before it either.
 */
export function verifyLocal<T extends object>(
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
  const guess =
    caller.mode === 'live' ? deps.local.guesses.join(caller, subject, toGuess(request)) : undefined
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

function leave<T>({ deps: { local }, key, guess }: Running<T>): void {
  if (key) local.idempotency.end(key)
  if (guess) local.guesses.leave(guess)
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
  return endAfter(span, running.deps.audit.recordIf(check, [entry])).then((refusal) => {
    // What was read has changed before the commit.
    if (refusal === 'changed') return look(running)
    if (refusal) throw limitError(refusal)
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
): CommitCheck {
  // Only a verified response contains the record.
  const held = row && 'record' in decision ? Buffer.from(record).toString('hex') : undefined
  return {
    guess: guess && {
      subject,
      keyId: caller.lineage,
      isWrong: isFailedGuess(decision),
      maxPeople: caller.subjectsPerDay,
      attempt: guess,
    },
    answer: key && response && deps.local.idempotency.toAnswer(key, response, held),
  }
}
