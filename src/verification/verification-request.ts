import type { AuditLog } from '../audit/audit-log.ts'
import type { Mode } from '../contract/scope.ts'
import type { Kind } from '../crypto/blind-index.ts'
import type { Caller } from '../keys/caller.ts'
import type { GuessLimit } from './guess-limit.ts'
import type { Claimed, Idempotency } from './idempotency.ts'
import type { Reuse } from './reuse.ts'
import type { SingleFlight } from './single-flight.ts'
import type { GuardedSource } from './subject.ts'

/** The sources in the order of asking. A test key never reaches a live source, and the other way round. */
export type Sources = { readonly [M in Mode]: { readonly [K in Kind]: readonly GuardedSource[] } }

/** What a verification needs of the server. */
export type VerificationDeps = {
  readonly sources: Sources
  /** Whether "not found" lets the next source be asked. */
  readonly askNext: boolean
  /** Absent unless the operator allows earlier results to be used again. */
  readonly reuse: Reuse | undefined
  readonly guessLimit: GuessLimit
  readonly audit: AuditLog
  readonly idempotency: Idempotency
  readonly singleFlight: SingleFlight
  readonly toSubjectHash: (kind: Kind, number: string) => string
}

/** Who asks, and what goes along with the question. */
export type VerificationRequest = {
  readonly caller: Caller
  /** The account of the console that tries the API, if it is one. */
  readonly person?: string | undefined
  readonly requestId: string
  readonly operation: string
  readonly amount: string | undefined
  readonly idempotencyKey: string | undefined
  readonly consentReference: string | undefined
  /** The caller wants no earlier result. */
  readonly fresh: boolean
  /** When the request was taken up: everything that is waited for since counts. */
  readonly startedAt: number
  /** Under an Idempotency-Key: the right to answer. */
  readonly claimed?: Claimed
}
