import type { CallGuard, PaidCalls, SkipReason } from './guard/call-guard.ts'
import type { Answer, SourceError, SourceFailure } from './source.ts'

/** One source that was asked or passed over: what came of it, and how long it took. For the audit. */
export type SourceAttempt = {
  readonly name: string
  readonly result:
    | 'found'
    | 'not_found'
    | 'watchlisted'
    | 'reused'
    | 'slow'
    | 'error'
    | SourceFailure
    | SkipReason
  readonly ms: number
  /** The vendor's own name for its answer. */
  readonly reference?: string
}

export type SourceQuery<T> = {
  readonly name: string
  readonly query: () => Promise<Answer<T>>
  /** Sources inside the house have none: they cost nothing and are always there. */
  readonly guard?: CallGuard | undefined
}

export type Search<T> = {
  readonly sourceAttempts: SourceAttempt[]
  /** Nobody waits longer. Absent where all sources are inside the house. */
  readonly signal: AbortSignal | undefined
  /** Whether a record settles the question; otherwise it counts as not found. */
  readonly matches?: (record: T) => boolean
  /** Whether "not found" lets the next source be asked. */
  readonly continueOnNotFound?: boolean
  /** The record with a watch list entry, for a number that an earlier source called blocked. */
  readonly markWatchlisted?: ((record: T) => T) | undefined
  /** Absent without an Idempotency-Key. */
  readonly paidCalls?: PaidCalls | undefined
  /** What must not be written down, should a vendor put it into its reference. */
  readonly secrets?: readonly string[]
}

/** What one question came to. */
export type Outcome<T> = { readonly answer: Answer<T> } | { readonly failure: SourceError }
