import type { AuditEntry } from '../audit/row.ts'
import { toPurposeDetail } from '../contract/free-text.ts'
import { steadyNow, toIsoTime } from '../contract/time.ts'
import { toBlindIndex } from '../crypto/mac.ts'
import type { SourceAttempt } from '../sources/search.ts'
import type { GuardedSource } from '../sources/source-chain.ts'
import type { IdType } from './id-type.ts'
import type { CallBudget, StoredResponse } from './idempotency.ts'
import type { Decision } from './match.ts'
import { toMatchText } from './match-details.ts'
import type { VerificationDeps } from './verification-deps.ts'
import type { VerificationRequest } from './verification-request.ts'

/** A verification under way: what its steps read. */
export type Verification<T> = {
  readonly deps: VerificationDeps
  readonly idType: IdType<T>
  readonly request: VerificationRequest
  /** Absent without an Idempotency-Key, outside the queue. */
  readonly budget: CallBudget | undefined
  /** Calls made so far that may have been billed. */
  readonly paid: { calls: number }
  readonly reference: string
  /** What all its audit rows have in common. */
  readonly auditFields: Omit<AuditEntry, 'phase'>
  readonly startedAt: string
  readonly sources: readonly GuardedSource[]
  /** Filled while the sources are asked, also when that fails. */
  readonly sourceAttempts: SourceAttempt[]
}

export function createVerification<T>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  subject: string,
  budget: CallBudget | undefined,
): Verification<T> {
  const { reference } = request
  const sources = deps.sources[request.caller.mode][idType.kind]
  return {
    deps,
    idType,
    request,
    budget,
    paid: { calls: 0 },
    reference,
    auditFields: toAuditFields(idType, request, subject, reference),
    startedAt: toIsoTime(steadyNow()),
    sources,
    sourceAttempts: [],
  }
}

export const toAuditFields = <T>(
  { operation }: IdType<T>,
  { caller, amount, consentReference, purpose, account }: VerificationRequest,
  subject: string,
  reference: string,
) => ({
  request_reference: reference,
  key_id: caller.keyId,
  mode: caller.mode,
  operation,
  subject,
  amount: amount ?? null,
  consent_reference: consentReference ?? null,
  detail: purpose === undefined && account === undefined ? null : toRequestDetail(purpose, account),
})

const toRequestDetail = (purpose: string | undefined, account: string | undefined): string =>
  [
    ...(purpose === undefined ? [] : [toPurposeDetail(purpose)]),
    ...(account === undefined ? [] : [`Try it; by ${account}`]),
  ].join('; ')

/** A verification that was added to the queue. */
export const toQueued = <T>({ auditFields, startedAt }: Verification<T>): AuditEntry => ({
  ...auditFields,
  phase: 'queued',
  time: startedAt,
})

/** An attempt that failed, of a verification that stays in the queue. */
export const toAttempt = <T>(
  { auditFields, sourceAttempts }: Verification<T>,
  outcome: string,
): AuditEntry => ({ ...auditFields, phase: 'attempt', outcome, sources: JSON.stringify(sourceAttempts) })

export const toIntent = <T>({ auditFields, startedAt }: Verification<T>): AuditEntry => ({
  ...auditFields,
  phase: 'intent',
  time: startedAt,
})

/** `started_at` is for a verification without an intent: then one row has both times. */
export const toOutcome = <T>(
  { auditFields, sourceAttempts }: Verification<T>,
  { outcome, match }: Decision<T>,
  response: StoredResponse | undefined,
  started_at: string | null,
): AuditEntry => ({
  ...auditFields,
  phase: 'outcome',
  outcome,
  sources: JSON.stringify(sourceAttempts),
  fields_released: response?.released ?? null,
  started_at,
  detail: toAuditDetail(match && toMatchText(match.compared), auditFields.detail),
})

/** Which details were compared, and how they compare. Never their values. */
export const toAuditDetail = (
  match: string | undefined,
  detail: string | null | undefined,
): string | null => {
  if (match === undefined) return detail ?? null
  return detail ? `match: ${match}; ${detail}` : `match: ${match}`
}

/**
 * Keyed hash of the NIN that a source returned for a virtual NIN. An erasure of the NIN finds the stored answer by it. Undefined
 * if the answer has the number that was asked for, or none.
 */
export function toOtherSubject<T>(
  { deps, idType, request }: Verification<T>,
  decision: Decision<T> | undefined,
): Buffer | undefined {
  const number = decision && 'record' in decision ? idType.numberIn(decision.record) : request.number
  return number === request.number ? undefined : toBlindIndex(deps.subjectKey, idType.kind, number)
}
