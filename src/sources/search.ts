import type { RequestTrace } from '../telemetry/tracing.ts'
import type { CallGuard, PaidCalls, SkipReason } from './guard/call-guard.ts'
import type { Answer, SourceError, SourceFailure } from './source.ts'

/** One source that was queried or skipped, with the result and the time it took. For the audit log. */
export type SourceAttempt = {
  readonly name: string
  readonly result:
    | 'found'
    | 'not_found'
    | 'watchlisted'
    | 'names_differ'
    | 'reused'
    | 'slow'
    | 'error'
    | SourceFailure
    | SkipReason
  readonly ms: number
  /** The vendor's own reference for its answer. */
  readonly reference?: string
}

export type SourceQuery<T> = {
  readonly name: string
  /** With the `traceparent` of the attempt, if requests are traced. */
  readonly query: (traceparent?: string) => Promise<Answer<T>>
  /** Local sources have none: they cost nothing. */
  readonly guard?: CallGuard | undefined
}

export type Search<T> = {
  readonly sourceAttempts: SourceAttempt[]
  /** The deadline. Absent when all sources are local. */
  readonly signal: AbortSignal | undefined
  /** Whether the record matches the request; otherwise it counts as not found. */
  readonly matches?: (record: T) => boolean
  /** Whether the next source is queried after "not found". */
  readonly continueOnNotFound?: boolean
  /** Adds a watch list entry to the record, because an earlier source called the number blocked. */
  readonly markWatchlisted?: ((record: T) => T) | undefined
  /** Counts the calls that may have been billed. */
  readonly paid?: { calls: number }
  /** Absent without an Idempotency-Key, outside the queue. */
  readonly paidCalls?: PaidCalls | undefined
  /** Limits the wait for what is written before a paid call. */
  readonly beforePaying?: (<R>(work: () => Promise<R>) => Promise<R>) | undefined
  /** The API key that pays. */
  readonly keyId?: string
  /** The number that is asked about: the guards tell people apart by it. */
  readonly person?: string
  /** Numbers that must not be written to the audit log, even when a vendor's reference contains them. */
  readonly secrets?: readonly string[]
  readonly trace?: Pick<RequestTrace, 'startAttempt'> | undefined
}

export type Outcome<T> = { readonly answer: Answer<T> } | { readonly failure: SourceError }
