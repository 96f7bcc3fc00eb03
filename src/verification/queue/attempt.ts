import type { AuditEntry } from '../../audit/row.ts'
import { createEvent, type NewEvent } from '../../contract/event.ts'
import { steadyNow } from '../../contract/time.ts'
import { toBlindIndexText } from '../../crypto/mac.ts'
import { BrokenSeal } from '../../crypto/seal.ts'
import { AppError, ERRORS, type ErrorCode } from '../../errors.ts'
import type { Claimed, Finish, Retry } from '../../ledger/queue-rows.ts'
import type { SourceAttempt } from '../../sources/failover.ts'
import { NotBegun } from '../../sources/failover.ts'
import { isWorthKeeping } from '../../sources/seen.ts'
import { askAndMatch, toGuessEnd, toKept } from '../ask.ts'
import { Commits } from '../commits.ts'
import { BVN, type IdType, NIN } from '../id-type.ts'
import { isSourceFailure, type StoredResponse, sealStoredResponse, toResponseOwner } from '../idempotency.ts'
import type { Decision } from '../match.ts'
import {
  createVerification,
  toAttempt,
  toOtherSubject,
  toOutcome,
  toStoredResponse,
  type Verification,
  type VerificationDeps,
} from '../verification.ts'
import { toGuess } from '../verification-request.ts'
import type { QueueDeps } from './open-queue.ts'
import { toCodeResponse, toErrorResponse } from './pending-response.ts'
import { openQuestion, type Question, sealAgain, sealAnswer } from './sealed-question.ts'
import { toRetryDelay } from './verify-later.ts'

type Attempted = {
  /** The sources that were called or skipped. */
  readonly sourceAttempts: readonly SourceAttempt[]
  /** What went wrong in this program, if anything did. */
  readonly bug?: unknown
}

const NOTHING_ASKED: Attempted = { sourceAttempts: [] }

/** One attempt to answer a verification of the queue. */
export function attempt(deps: VerificationDeps, claimed: Claimed): Promise<Attempted> {
  return claimed.operation === NIN.operation ? attemptAs(deps, NIN, claimed) : attemptAs(deps, BVN, claimed)
}

/** From top to bottom, as in verify.ts. */
async function attemptAs<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  claimed: Claimed,
): Promise<Attempted> {
  const opened = await openClaimed(deps, idType, claimed)
  if (!('verification' in opened)) return { ...NOTHING_ASKED, ...opened }
  const { verification, asked } = opened
  const { request, sourceAttempts, auditFields } = verification
  if (claimed.lifeMs <= 0) {
    await end(verification, asked, toCodeResponse('expired', claimed.reference, request.requestId))
    return NOTHING_ASKED
  }

  // Guess limit: not in the sandbox, where people are synthetic.
  const { caller } = request
  const guess =
    caller.mode === 'live'
      ? deps.guessLimit.open(caller, auditFields.subject ?? '', toGuess(request))
      : undefined
  const commits = new Commits(verification, { guess })
  try {
    // Ask and match: guess, intent and price are durable before a source outside this process is asked.
    const decision = await askAndMatch(verification, commits)

    // Mask, and record: the outcome and the answer, or the next attempt, in one commit.
    const response = toStoredResponse(verification, decision) ?? toFinalResponse(verification, decision)
    // After an erasure the lease is lost, and nothing about the person is stored.
    if (response) await endAsked(verification, commits, asked, response, decision)
    else await retry(verification, commits, asked, decision)
    return { sourceAttempts, ...('error' in decision && toBug(decision.error)) }
  } catch (error) {
    const limit = toLimitError(error)
    await end(verification, asked, toErrorResponse(limit, claimed.reference, request.requestId))
    return NOTHING_ASKED
  } finally {
    await commits.abandon(undefined).catch(() => {})
  }
}

/** Throws what is no limit: a later attempt may succeed. */
function toLimitError(error: unknown): AppError {
  const reason = error instanceof NotBegun ? error.reason : error
  if (error instanceof NotBegun && reason instanceof AppError && !LATER.includes(reason.code)) return reason
  throw reason
}

const toBug = (error: unknown) => (error instanceof AppError ? {} : { bug: error })

/** Failures that a later attempt cannot change. With no paid calls left, no source can answer. */
function toFinalResponse<T>(
  { reference, request: { requestId } }: Verification<T>,
  decision: Decision<T>,
): StoredResponse | undefined {
  const { error } = decision as { error: unknown }
  if (!(error instanceof AppError)) return undefined
  const { code, paidCallsUsedUp } = error
  if (paidCallsUsedUp) return toCodeResponse('expired', reference, requestId)
  const mayChange = isSourceFailure(error) || LATER.includes(code)
  return mayChange ? undefined : toErrorResponse(error, reference, requestId)
}

/** Failures of this server. */
const LATER: readonly ErrorCode[] = ['internal_error', 'audit_unavailable', 'overloaded']

/** The end of a verification after the sources were asked. Does nothing if another process has it now, or it was erased. */
async function endAsked<T>(
  verification: Verification<T>,
  commits: Commits,
  asked: Asked,
  response: StoredResponse,
  decision: Decision<T>,
): Promise<void> {
  const { deps } = verification
  const subject = toOtherSubject(verification, decision)
  const change: Finish = { ...toEnd(deps.queue, asked, response), subject }
  const entry =
    'error' in decision
      ? toFailedOutcome(verification, response)
      : toOutcome(verification, decision, response, null)
  const ending = commits.end({
    entry,
    guess: toGuessEnd(verification, decision),
    toParts: () => ({ kept: toKept(verification, decision) }),
    toChange: (refunded) => ({ ...change, refunded }),
  })
  const refusal = await ending.catch((error) => {
    // With such a subject, an erasure meanwhile could be missed.
    if (!subject && error instanceof AppError && error.code === 'audit_unavailable')
      endLater(deps, change, entry)
    throw error
  })
  if (refusal) return
  // The person may have been erased while the source was asked: only now the number is known.
  if (subject) await deps.store.erasure.eraseLate(subject)
  tellEnd(deps.queue, change)
}

/** An end may itself be the reason why its commit fails. */
const MAX_LATE_TRIES = 5

/** The store failed after the sources were asked. The end is written when it is back, unless it was executed or the lease is lost by then. */
function endLater(
  { audit, queue }: Pick<VerificationDeps, 'audit' | 'queue'>,
  change: Finish,
  entry: AuditEntry,
  tries = 1,
): void {
  audit.onceHealthy(async () => {
    try {
      if (!(await audit.recordChange(change, [entry]))) tellEnd(queue, change)
    } catch {
      if (tries < MAX_LATE_TRIES) endLater({ audit, queue }, change, entry, tries + 1)
    }
  })
}

/** The end of a verification that is not asked about. */
async function end<T>(verification: Verification<T>, asked: Asked, response: StoredResponse): Promise<void> {
  const { audit, queue } = verification.deps
  const change = toEnd(queue, asked, response)
  const refusal = await audit.recordChange(change, [toFailedOutcome(verification, response)])
  if (!refusal) tellEnd(queue, change)
}

const toFailedOutcome = <T>(
  { auditFields, sourceAttempts }: Verification<T>,
  { outcome }: StoredResponse,
): AuditEntry => ({ ...auditFields, phase: 'outcome', outcome, sources: JSON.stringify(sourceAttempts) })

function tellEnd({ announce, signals }: QueueDeps, { event, reference, outcome }: Finish): void {
  if (event) announce(event)
  signals.end(reference, outcome)
}

async function retry<T>(
  verification: Verification<T>,
  commits: Commits,
  asked: Claimed & { readonly opened: Question },
  decision: Decision<T>,
): Promise<void> {
  const { deps, sourceAttempts, budget, seen } = verification
  const { reference, lease, attempts, paidCalls } = asked
  // An attempt counts, and the next wait is twice as long, also if every vendor that can be called has answered before.
  const isAttempt = isWorthKeeping(seen) || sourceAttempts.some(({ result }) => !SKIPPED.includes(result))
  const wasPaid = (budget?.used ?? 0) > paidCalls
  // The few paid calls of a verification are not used up within seconds.
  const delayMs = toRetryDelay(deps.queue.settings, wasPaid ? Number.POSITIVE_INFINITY : attempts + 1)
  const question = isWorthKeeping(seen)
    ? sealAgain(deps.queue.keyring, reference, asked.opened, seen)
    : undefined
  const change: Retry = { kind: 'retry', reference, lease, delayMs, isAttempt, question }
  await commits.end({
    entry: toAttempt(verification, decision.outcome),
    guess: toGuessEnd(verification, decision),
    toChange: (refunded) => ({ ...change, refunded }),
  })
}

const SKIPPED: readonly SourceAttempt['result'][] = [
  'disabled',
  'breaker_open',
  'spend_cap',
  'retry_after',
  'paid_calls',
  'busy',
]

/** Without a verification it has ended here: `bug` is why its question cannot be opened, if that is the reason. */
type Opened<T> =
  | { readonly verification: Verification<T>; readonly asked: Asked & { readonly opened: Question } }
  | { readonly bug?: unknown }

/** A verification whose question was opened. */
type Asked = Claimed & Pick<Question, 'fingerprint'>

/**
 * Opens the question of a verification that was claimed. It ends if its key has ended or lost the scope, or if the
 * question is damaged.
 */
async function openClaimed<T>(
  deps: VerificationDeps,
  idType: IdType<T>,
  claimed: Claimed,
): Promise<Opened<T>> {
  const { keyring, settings, findCaller } = deps.queue
  const { reference, lease, lineage, paidCalls: used } = claimed
  const caller = await findCaller(claimed.keyId)
  if (!caller?.scopes.has(`kyc:${idType.kind}`)) {
    await endUnasked(deps, claimed, undefined, caller ? 'the key has lost the scope' : 'the key has ended')
    return {}
  }
  let question: Question
  try {
    if (caller.lineage !== lineage) throw new BrokenSeal()
    question = openQuestion(keyring, reference, claimed.question, lineage)
    // Else the log would name another person than the one whose record is given out.
    if (toBlindIndexText(deps.subjectKey, idType.kind, question.number) !== toSubject(claimed))
      throw new BrokenSeal()
  } catch (error) {
    // A later attempt cannot open it either. The caller may ask again.
    const response = toCodeResponse('internal_error', reference, reference)
    await endUnasked(deps, claimed, response, 'the question cannot be opened')
    return { bug: error }
  }
  const unused = { reference, idempotencyKey: undefined, trace: undefined, startedAt: performance.now() }
  const { requireMatch, fingerprint, lineage: _lineage, seen, ...rest } = question
  const request = { ...rest, ...unused, caller: { ...caller, requireMatch } }
  const budget = { payer: { reference, lease }, most: settings.paidCalls, used, lastFailure: undefined }
  const verification = createVerification(deps, idType, request, toSubject(claimed), budget, seen)
  return { verification, asked: { ...claimed, fingerprint, opened: question } }
}

const toSubject = ({ subject }: Claimed) => Buffer.from(subject).toString('hex')

/** Ends a verification for which no source was asked in this attempt. Its Idempotency-Key can be used again. */
async function endUnasked(
  { audit, queue }: VerificationDeps,
  claimed: Claimed,
  response: StoredResponse | undefined,
  detail: string,
): Promise<void> {
  const { reference, keyId, mode, operation } = claimed
  const outcome = response?.outcome ?? 'cancelled'
  const change = toEnd(queue, claimed, response)
  const about = { request_reference: reference, key_id: keyId, mode, operation, subject: toSubject(claimed) }
  if (await audit.recordChange(change, [{ ...about, phase: 'outcome', outcome, detail }])) return
  tellEnd(queue, change)
}

/** The end of a verification as it is written. Without a response it is cancelled. */
function toEnd(
  { keyring, settings: { keepMs } }: QueueDeps,
  asked: Asked,
  response: StoredResponse | undefined,
): Finish {
  const { reference, lease, lineage, idempotency, fingerprint } = asked
  const ids = { kind: 'finish', reference, lease, keepMs } as const
  if (!response)
    return { ...ids, state: 'cancelled', outcome: 'cancelled', answer: undefined, stored: undefined }
  const { outcome } = response
  return {
    ...ids,
    state: outcome === 'expired' ? 'expired' : 'answered',
    outcome,
    answer: sealAnswer(keyring, response, lineage),
    stored:
      idempotency && !isRetryable(outcome)
        ? sealStoredResponse(
            keyring,
            idempotency,
            response,
            fingerprint && toResponseOwner(lineage, fingerprint),
          )
        : undefined,
    event: asked.lane === 'single' ? toEvent(asked, outcome) : undefined,
  }
}

/** The caller is told to ask again: the same Idempotency-Key then runs again. */
const isRetryable = (outcome: string) =>
  Object.hasOwn(ERRORS, outcome) && ERRORS[outcome as ErrorCode].retryable

const EVENT_STATUS: Readonly<Record<string, string>> = {
  verified: 'VERIFIED',
  not_verified: 'NOT_VERIFIED',
  expired: 'EXPIRED',
}

/** Rows of a batch have none: the end of the batch is told. */
function toEvent({ reference, keyId, operation, mode }: Claimed, outcome: string): NewEvent {
  const status = EVENT_STATUS[outcome] ?? 'FAILED'
  return createEvent({
    type: outcome === 'expired' ? 'verification.expired' : 'verification.completed',
    at: steadyNow(),
    keyId,
    reference,
    data: { reference, operation, mode, status, ...(status === 'FAILED' && { code: outcome }) },
  })
}
