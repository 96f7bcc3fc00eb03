import type { AuditEntry } from '../audit/row.ts'
import { steadyNow } from '../contract/time.ts'
import type { SourceAttempt } from '../sources/search.ts'
import type { Source } from '../sources/source.ts'
import type { IdType } from './id-type.ts'
import type { IdempotencyClaim } from './idempotency.ts'
import { createReference } from './reference.ts'
import type { GuardedSource, VerificationDeps } from './verification-deps.ts'
import type { VerificationRequest } from './verification-request.ts'

/** A verification under way: what its steps read. */
export type Verification<T> = {
  readonly deps: VerificationDeps
  readonly idType: IdType<T>
  readonly request: VerificationRequest
  readonly claim: IdempotencyClaim | undefined
  readonly reference: string
  /** What all its audit rows have in common. */
  readonly auditFields: Omit<AuditEntry, 'phase'>
  readonly startedAt: string
  readonly sources: readonly GuardedSource[]
  /** The source, where it is the only one and inside this process. */
  readonly localSource: Source | undefined
  /** Filled while the sources are asked, also when that fails. */
  readonly sourceAttempts: SourceAttempt[]
}

export function createVerification<T>(
  deps: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  subject: string,
  claim: IdempotencyClaim | undefined,
): Verification<T> {
  const reference = createReference()
  const sources = deps.sources[request.caller.mode][idType.kind]
  return {
    deps,
    idType,
    request,
    claim,
    reference,
    auditFields: toAuditFields(idType, request, subject, reference),
    startedAt: new Date(steadyNow()).toISOString(),
    sources,
    localSource: findLocal(sources),
    sourceAttempts: [],
  }
}

export const toAuditFields = <T>(
  { operation }: IdType<T>,
  { caller, amount, consentReference, account }: VerificationRequest,
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
  detail: account === undefined ? null : `Try it; by ${account}`,
})

function findLocal(sources: readonly GuardedSource[]): Source | undefined {
  const only = sources.length === 1 ? sources[0]?.source : undefined
  return only?.isExternal ? undefined : only
}
