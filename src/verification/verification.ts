import type { KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import type { AuditEntry } from '../audit/row.ts'
import { toPurposeDetail } from '../contract/free-text.ts'
import { steadyNow, toIsoTime } from '../contract/time.ts'
import { type Kind, toBlindIndex } from '../crypto/mac.ts'
import { AppError, ERRORS, toErrorBody } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import { mask, toNewlyHidden, toReleasedFields } from '../keys/field-policy.ts'
import type { SourceAttempt } from '../sources/failover.ts'
import { createSeen, type Seen } from '../sources/seen.ts'
import type { SingleFlight } from '../sources/single-flight.ts'
import type { GuardedSource, Sources } from '../sources/source-chain.ts'
import type { SpendLeases } from '../sources/spend-leases.ts'
import type { GuessLimit } from './guess-limit.ts'
import type { IdType } from './id-type.ts'
import type { CallBudget, Idempotency, StoredResponse } from './idempotency.ts'
import type { Decision } from './match.ts'
import { readMatchText, toMatchText } from './match-details.ts'
import type { LocalDeps } from './open-local.ts'
import type { QueueDeps } from './queue/open-queue.ts'
import type { Reuse } from './reuse.ts'
import type { VerificationRequest } from './verification-request.ts'

/** A verification under way: what its steps read. */
export type Verification<T> = {
  readonly deps: VerificationDeps
  readonly idType: IdType<T>
  readonly request: VerificationRequest
  /** Paid calls. Absent without an Idempotency-Key, outside the queue. */
  readonly budget: CallBudget | undefined
  /** Calls made so far that may have been billed. */
  readonly paid: { calls: number }
  readonly seen: Seen
  readonly reference: string
  /** What all its audit rows have in common. */
  readonly auditFields: Omit<AuditEntry, 'phase'>
  readonly startedAt: string
  readonly sources: readonly GuardedSource[]
  /** Filled while the sources are asked, also when that fails. */
  readonly sourceAttempts: SourceAttempt[]
}

/** What a verification needs of the server. */
export type VerificationDeps = {
  readonly sources: Sources
  /** Whether "not found" lets the next source be asked. */
  readonly askNext: boolean
  /** Absent unless the operator allows earlier results to be reused. */
  readonly reuse: Reuse | undefined
  readonly guessLimit: GuessLimit
  readonly audit: AuditLog
  readonly leases: SpendLeases
  readonly idempotency: Idempotency
  readonly singleFlight: SingleFlight
  readonly local: LocalDeps
  readonly queue: QueueDeps
  readonly config: { readonly purposes: readonly string[] | undefined }
  readonly store: {
    readonly erasure: { readonly eraseLate: (subject: Uint8Array) => Promise<number> }
  }
  /** Hashes numbers for the audit log, the guess limit and idempotency. */
  readonly subjectKey: KeyObject
  /** Signs links to pictures. A rotation of the root key replaces it. */
  readonly pictureKey: () => KeyObject
}

export function createVerification<T>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  subject: string,
  budget: CallBudget | undefined,
  seen = createSeen(),
): Verification<T> {
  const { reference } = request
  const sources = deps.sources[request.caller.mode][idType.kind]
  return {
    deps,
    idType,
    request,
    budget,
    paid: { calls: 0 },
    seen,
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

export const toIntent = ({
  auditFields,
  startedAt,
}: Pick<Verification<unknown>, 'auditFields' | 'startedAt'>): AuditEntry => ({
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

/** The response of a decision, with the fields hidden that the key must not see. Undefined for a failure. */
export function toStoredResponse<T extends object>(
  { deps, idType, request, reference }: Verification<T>,
  decision: Decision<T>,
): StoredResponse | undefined {
  if ('error' in decision) return undefined
  if (!('record' in decision)) return toNotVerified(reference, request.requestId)
  const { hidden } = request.caller
  const body = idType.toBody(mask(decision.record, hidden), reference, request, deps.pictureKey())
  return {
    status: 200,
    body: JSON.stringify(body),
    outcome: 'verified',
    reference,
    released: toReleasedFields(idType.kind, hidden),
    ...(decision.match && { match: toMatchText(decision.match.told) }),
  }
}

/** A stored response for a key that may have changed since: what is hidden from it now is hidden. Else it is not changed. */
export function toStillVisible(
  stored: StoredResponse,
  kind: Kind,
  { hidden }: Pick<Caller, 'hidden'>,
): StoredResponse {
  const { released, match } = stored
  const since = released === null ? undefined : toNewlyHidden(kind, released, hidden)
  if (!since) return stored
  const body = JSON.parse(stored.body) as { data: object }
  return {
    ...stored,
    body: JSON.stringify({ ...body, data: mask(body.data, since.fields) }),
    released: since.released,
    match: withoutHidden(match, since.fields),
  }
}

/** Any name may have made a name partial. */
function withoutHidden(match: string | undefined, hidden: readonly string[]): string | undefined {
  const { date_of_birth, ...names } = readMatchText(match) ?? {}
  const day = hidden.includes('personal_info.date_of_birth') ? {} : { date_of_birth }
  return toMatchText({ ...(hidden.some((path) => path.endsWith('_name')) ? {} : names), ...day })
}

/** The same for an unknown number and for another phone: otherwise callers could find out which numbers exist. */
function toNotVerified(reference: string, requestId: string): StoredResponse {
  const data = { request_reference: reference, verification_status: 'NOT_VERIFIED' }
  const body = JSON.stringify(toErrorBody(new AppError('not_verified', { data }), requestId))
  return { status: ERRORS.not_verified.status, body, outcome: 'not_verified', reference, released: null }
}
