import { toBlindIndexText } from '../crypto/blind-index.ts'
import { AppError } from '../errors.ts'
import type { CommitCheck } from '../store/commit-check.ts'
import { type Found, NO_RECORD } from '../store/lookup.ts'
import { askLocal, type LocalOnly } from './ask.ts'
import { toLimitError } from './guess-limit.ts'
import type { IdType } from './id-type.ts'
import type { StoredResponse } from './idempotency.ts'
import type { RunningKey } from './local-idempotency.ts'
import { type Decision, isFailedGuess } from './match.ts'
import type { OpenGuess } from './open-guesses.ts'
import { replay, toKeyUse, type VerificationResponse } from './replay.ts'
import { toStoredResponse } from './stored-response.ts'
import { createVerification, toOutcome, type Verification } from './verification.ts'
import type { GuardedSource, VerificationDeps } from './verification-deps.ts'
import type { VerificationRequest } from './verification-request.ts'

/** The source, where it is the only one and inside this process. */
export function findLocalSource(sources: readonly GuardedSource[]): LocalOnly | undefined {
  const only = sources.length === 1 ? sources[0]?.source : undefined
  return only?.local && (only as LocalOnly)
}

/** Reads again when the response of another process, or an erasure, came in between. Once is enough but for a rare race. */
const MOST_TRIES = 3

/** A verification that asks no source outside this process: nothing is written or disclosed before its one commit. */
export async function verifyLocal<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  source: LocalOnly,
): Promise<VerificationResponse> {
  const { audit, local } = deps
  audit.requireHealthy()
  const subject = toBlindIndexText(deps.subjectKey, idType.kind, request.number)
  const { idempotencyKey: header, caller, phone } = request
  const key =
    header === undefined ? undefined : local.idempotency.begin(toKeyUse(idType, request, header, subject))
  // The guess limit does not apply in the sandbox, where people are synthetic.
  const guess = caller.mode === 'live' ? local.guesses.join(caller, subject, phone) : undefined
  try {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const response = await attempt(deps, idType, request, { source, subject, key, guess })
      if (response) return response
    }
    throw new AppError('idempotency_in_progress')
  } catch (error) {
    throw audit.reportFailure(error) ? new AppError('audit_unavailable', { cause: error }) : error
  } finally {
    if (key) local.idempotency.end(key)
    if (guess) local.guesses.leave(guess)
  }
}

type Running = {
  readonly source: LocalOnly
  readonly subject: string
  readonly key: RunningKey | undefined
  readonly guess: OpenGuess | undefined
}

/** From top to bottom. Undefined when what was read has changed before the commit. */
async function attempt<T extends object>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  running: Running,
): Promise<VerificationResponse | undefined> {
  const { source, subject, key } = running

  // Look: the record, and the stored response under an Idempotency-Key.
  const looking = lookUp(deps, idType, request, running)
  const found = looking instanceof Promise ? await looking : looking
  const stored = key && deps.local.idempotency.read(key, found.answer)
  if (stored) return replay(deps, idType, request, subject, stored)

  // Match and mask, in memory.
  const verification = createVerification(deps, idType, request, subject, undefined)
  const asking = askLocal(verification, source, found.record)
  const decision = asking instanceof Promise ? await asking : asking
  const response = toStoredResponse(verification, decision)

  // Record: the limits, the stored response and the audit row, in one commit.
  const entry = toOutcome(verification, decision, response, verification.startedAt)
  const refusal = await deps.audit.recordIf(toCheck(verification, running, found, decision, response), [
    entry,
  ])
  if (refusal === 'changed') return undefined
  if (refusal) throw toLimitError(refusal)

  // Answer.
  if (!response) throw (decision as { error: unknown }).error
  return { ...response, replayed: false }
}

const NOTHING: Found = { record: NO_RECORD, answer: undefined }

function lookUp<T>(
  { local }: VerificationDeps,
  { kind }: IdType<T>,
  { number }: VerificationRequest,
  { source, key }: Running,
): Found | Promise<Found> {
  const record = source.local.toQuestion?.(kind, number)
  return record || key ? local.lookups.find({ record, answer: key }) : NOTHING
}

function toCheck<T>(
  { deps, request: { caller } }: Verification<T>,
  { subject, key, guess }: Running,
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
      most: caller.subjectsPerDay,
      attempt: guess,
    },
    answer: key && response && deps.local.idempotency.toAnswer(key, response, held),
  }
}
