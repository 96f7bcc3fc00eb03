import type { AuditEntry } from '../audit/row.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError, ERRORS, type ErrorCode, toErrorBody } from '../errors.ts'
import { toReleasedFields } from '../keys/field-policy.ts'
import type { SourceAttempt } from '../sources/search.ts'
import { askSources, findReused, keepForReuse } from './ask-sources.ts'
import { type StoredResponse, toFinalFailure } from './idempotency.ts'
import { mask } from './mask.ts'
import { isMissedGuess, isPhoneOf } from './match.ts'
import { createReference } from './reference.ts'
import type { Subject } from './subject.ts'
import type { VerificationDeps, VerificationRequest } from './verification-request.ts'

/** The answer as it leaves the house. */
export type VerificationResponse = StoredResponse & { readonly replayed: boolean }

type Judgement<T> =
  | { readonly outcome: 'verified'; readonly record: T }
  | { readonly outcome: 'not_verified' }
  | { readonly outcome: ErrorCode; readonly error: unknown }

/** The one way to an answer. Where nothing can be recorded, nobody is asked. */
export async function verify<T extends object>(
  desk: VerificationDeps,
  asker: VerificationRequest,
  subject: Subject<T>,
): Promise<VerificationResponse> {
  desk.audit.requireHealthy()
  try {
    return await verifyOnce(desk, asker, subject)
  } catch (error) {
    throw desk.audit.reportFailure(error) ? new AppError('audit_unavailable', { cause: error }) : error
  }
}

/** A verification under an Idempotency-Key runs once; whoever comes again gets the first answer. */
async function verifyOnce<T extends object>(
  desk: VerificationDeps,
  asker: VerificationRequest,
  subject: Subject<T>,
): Promise<VerificationResponse> {
  const { idempotencyKey: header, operation, caller, amount = '' } = asker
  if (header === undefined) return perform(desk, asker, subject)
  const request = [subject.number, subject.phone, amount]
  const about = { request, subject: desk.toSubjectHash(subject.kind, subject.number) }
  const begun = await desk.idempotency.begin({ keyId: caller.lineage, operation, header, ...about })
  if ('kept' in begun) {
    const { outcome, reference, released } = begun.kept
    const story = toAuditFields(desk, asker, subject, reference)
    await desk.audit.record([{ ...story, phase: 'replay', outcome, fields_released: released }])
    return { ...begun.kept, replayed: true }
  }
  try {
    return await perform(desk, { ...asker, claimed: begun.claimed }, subject)
  } catch (error) {
    await desk.idempotency.release(begun.claimed, error).catch(() => {})
    throw error
  }
}

/** The steps of a verification, the same for test and live. */
async function perform<T extends object>(
  desk: VerificationDeps,
  asker: VerificationRequest,
  subject: Subject<T>,
): Promise<VerificationResponse> {
  const { kind, number, phone } = subject
  // Synthetic people need no guard against guessing.
  const guess =
    asker.caller.mode === 'live' ? await desk.guessLimit.admit(asker.caller, kind, number, phone) : undefined
  let failed = false
  try {
    const finished = await answer(desk, asker, subject)
    failed = finished.outcome === 'not_verified'
    return finished
  } catch (error) {
    failed = isMissedGuess(error)
    throw error
  } finally {
    await guess?.settle(failed)
  }
}

async function answer<T extends object>(
  desk: VerificationDeps,
  asker: VerificationRequest,
  subject: Subject<T>,
): Promise<VerificationResponse> {
  const { audit, idempotency, sources } = desk
  const { caller, claimed } = asker
  const reference = createReference()
  const story = toAuditFields(desk, asker, subject, reference)
  const intent: AuditEntry = { ...story, phase: 'intent', time: new Date(steadyNow()).toISOString() }
  // The intent is on disk before anybody outside is asked; inside the house both rows share one commit.
  const asksOutside = sources[caller.mode][subject.kind].some(({ source }) => source.isExternal)
  if (asksOutside) await audit.record([intent])

  const sourceAttempts: SourceAttempt[] = []
  const judgement = await judge(desk, asker, subject, reference, sourceAttempts)
  const kept = 'error' in judgement ? undefined : toStoredResponse(asker, subject, reference, judgement)
  const outcome: AuditEntry = {
    ...story,
    phase: 'outcome',
    outcome: judgement.outcome,
    sources: JSON.stringify(sourceAttempts),
    fields_released: kept?.released ?? null,
  }
  const completion = claimed && kept && idempotency.complete(claimed, kept)
  await audit.record(asksOutside ? [outcome] : [intent, outcome], completion)
  if (!kept) throw (judgement as { error: unknown }).error
  return { ...kept, replayed: false }
}

/** Asks, and says what came of it. Whatever goes wrong is an outcome, too: it is audited before it is told. */
async function judge<T extends object>(
  desk: VerificationDeps,
  asker: VerificationRequest,
  subject: Subject<T>,
  reference: string,
  sourceAttempts: SourceAttempt[],
): Promise<Judgement<T>> {
  const { number, phone } = subject
  const { hidden } = asker.caller
  try {
    const reused = await findReused(desk, asker, subject, sourceAttempts)
    if (reused) return { outcome: 'verified', record: mask(reused, hidden) }
    const answer = await askSources(desk, asker, subject, reference, sourceAttempts)
    if (answer.found && subject.numberIn(answer.record) !== number) throw new AppError('source_bad_response')
    // The phone is compared even when nobody was found: both failures take the same steps.
    const matches = isPhoneOf(phone, answer.found ? subject.phonesIn(answer.record) : [number])
    if (!answer.found || !matches) return { outcome: 'not_verified' }
    await keepForReuse(desk, asker, subject, answer.record, sourceAttempts).catch(() => {})
    return { outcome: 'verified', record: mask(answer.record, hidden) }
  } catch (thrown) {
    const error = toFinalFailure(thrown, asker.claimed)
    return { outcome: error instanceof AppError ? error.code : 'internal_error', error }
  }
}

function toStoredResponse<T extends object>(
  { caller, requestId }: VerificationRequest,
  subject: Subject<T>,
  reference: string,
  judgement: Exclude<Judgement<T>, { error: unknown }>,
): StoredResponse {
  if ('record' in judgement)
    return {
      status: 200,
      body: subject.toBody(judgement.record, reference),
      outcome: 'verified',
      reference,
      released: toReleasedFields(subject.kind, caller.hidden),
    }
  // The same for a number nobody has and for a phone that differs, so that nobody can be harvested.
  const data = { request_reference: reference, verification_status: 'NOT_VERIFIED' }
  const body = JSON.stringify(toErrorBody(new AppError('not_verified', { data }), requestId))
  return { status: ERRORS.not_verified.status, body, outcome: 'not_verified', reference, released: null }
}

const toAuditFields = <T>(
  desk: VerificationDeps,
  asker: VerificationRequest,
  subject: Subject<T>,
  reference: string,
) => ({
  request_reference: reference,
  key_id: asker.caller.keyId,
  mode: asker.caller.mode,
  operation: asker.operation,
  subject: desk.toSubjectHash(subject.kind, subject.number),
  amount: asker.amount ?? null,
  consent_reference: asker.consentReference ?? null,
  detail: asker.person === undefined ? null : `Try it; by ${asker.person}`,
})
