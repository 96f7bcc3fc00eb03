import type { KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Config } from '../config/config.ts'
import type { Mode } from '../contract/scope.ts'
import type { Kind } from '../crypto/blind-index.ts'
import type { CallGuard } from '../sources/guard/call-guard.ts'
import type { Source } from '../sources/source.ts'
import type { ErasureTable } from '../store/erasure-table.ts'
import type { LookupTable } from '../store/lookup.ts'
import type { GuessLimit } from './guess-limit.ts'
import type { Idempotency } from './idempotency.ts'
import type { LocalIdempotency } from './local-idempotency.ts'
import type { OpenGuesses } from './open-guesses.ts'
import type { QueueDeps } from './queue/queue-deps.ts'
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
  readonly config: Pick<Config, 'purposes'>
  readonly store: { readonly erasure: Pick<ErasureTable, 'eraseLate'> }
  /** Hashes numbers for the audit log, the guess limit and idempotency. */
  readonly subjectKey: KeyObject
  /** Signs links to pictures. */
  readonly pictureKey: KeyObject
}

/** What a verification by a source inside this process needs. */
export type LocalDeps = {
  readonly lookups: LookupTable
  readonly idempotency: LocalIdempotency
  readonly guesses: OpenGuesses
}

/** The sources in the order of asking. A test key never reaches a live source, nor a live key the sandbox. */
export type Sources = { readonly [M in Mode]: { readonly [K in Kind]: readonly GuardedSource[] } }

/** A source with the guard of its calls. Sources inside this process need no guard. */
export type GuardedSource = { readonly source: Source; readonly guard?: CallGuard }
