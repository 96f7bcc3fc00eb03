import type { KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Sources } from '../sources/source-chain.ts'
import type { GuessLimit } from './guess-limit.ts'
import type { Idempotency } from './idempotency.ts'
import type { LocalDeps } from './open-local.ts'
import type { QueueDeps } from './queue/open-queue.ts'
import type { Reuse } from './reuse.ts'
import type { SingleFlight } from './single-flight.ts'

/** What a verification needs of the server. */
export type VerificationDeps = {
  readonly sources: Sources
  /** Whether "not found" lets the next source be asked. */
  readonly askNext: boolean
  /** Absent unless the operator allows earlier results to be reused. */
  readonly reuse: Reuse | undefined
  readonly guessLimit: GuessLimit
  readonly audit: AuditLog
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
  /** Signs links to pictures. */
  readonly pictureKey: KeyObject
}
