import { AppError, ERRORS, type ErrorCode } from '../errors.ts'
import type { RequestTrace } from '../telemetry/tracing.ts'
import { type CallGuard, isPaid, type PaidCalls, type Permit, type SkipReason } from './guard/call-guard.ts'
import { type Answer, SourceError, type SourceFailure } from './source.ts'

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

const CODE_OF_FAILURE: Readonly<Record<SourceFailure, ErrorCode>> = {
  unreachable: 'source_unavailable',
  refused: 'source_unavailable',
  throttled: 'source_unavailable',
  timeout: 'source_timeout',
  bad_response: 'source_bad_response',
}

/** The error for the caller when the only source failed. */
export const sourceFailedError = (cause: SourceError): AppError =>
  new AppError(CODE_OF_FAILURE[cause.reason], { cause })

/** The outcomes of one search so far, and the result that follows from them. */
export function createSearchProgress<T>(search: Search<T>) {
  const { continueOnNotFound, matches, markWatchlisted, sourceAttempts, paid = { calls: 0 } } = search
  let isMissed = false
  let isSkipped = false
  let isWatchlisted = false
  let failure: SourceError | undefined
  let lateAnswer: Answer<T> | undefined
  const late: Promise<Outcome<T>>[] = []
  const { promise: endedLate, resolve: endLate } = Promise.withResolvers<{ late: Answer<T> }>()
  const isMatch = (answer: Answer<T>) => answer.found && (matches === undefined || matches(answer.record))
  const endsSearch = (answer: Answer<T>) =>
    answer.found ? !continueOnNotFound || isMatch(answer) : !continueOnNotFound && !isWatchlisted
  const mark = (answer: Answer<T>) => (isWatchlisted ? toMarked(answer, markWatchlisted) : answer)
  /** Records an outcome. Returns the answer if it ends the search. */
  const record = ({ guard }: Pick<SourceQuery<T>, 'guard'>, outcome: Outcome<T>): Answer<T> | undefined => {
    if ('failure' in outcome) {
      failure = outcome.failure
      if (guard && isPaid(failure)) paid.calls += 1
      return undefined
    }
    if (guard) paid.calls += 1
    if (!outcome.answer.found && outcome.answer.watchlisted) isWatchlisted = true
    if (endsSearch(outcome.answer)) return mark(outcome.answer)
    isMissed = true
    return undefined
  }
  /** Stops waiting for a query. It counts as paid, and its late answer may still end the search. */
  const leaveRunning = ({ name }: SourceQuery<T>, outcome: Promise<Outcome<T>>, ms: number): undefined => {
    paid.calls += 1
    late.push(outcome)
    sourceAttempts.push({ name, result: 'slow', ms: Math.round(ms) })
    const recordLate = (settled: Outcome<T>) => {
      lateAnswer ??= record({}, settled)
      if (lateAnswer) endLate({ late: lateAnswer })
    }
    outcome.then(recordLate, () => {})
  }
  return {
    paid: () => paid.calls,
    /** The answer of a slow source that has ended the search meanwhile. */
    lateAnswer: () => lateAnswer,
    /** The guard refused the call. A source that the operator has disabled does not prevent "not found". */
    skip: ({ name }: SourceQuery<T>, result: SkipReason): void => {
      if (result !== 'disabled') isSkipped = true
      sourceAttempts.push({ name, result, ms: 0 })
    },
    /** The deadline passed before this source was queried. */
    timeOut: ({ name }: SourceQuery<T>): void => {
      failure = new SourceError(name, 'timeout', { problem: 'too_slow', sent: false, fault: 'deadline' })
    },
    /** Returns the answer if it ends the search. With a permit, it waits only until the hedge is due. */
    take: async (
      query: SourceQuery<T>,
      outcome: Promise<Outcome<T>>,
      permit: Permit | undefined,
    ): Promise<Answer<T> | undefined> => {
      const startedAt = performance.now()
      const settled = await Promise.race([endedLate, permit ? waitUntilHedge(outcome, permit) : outcome])
      if (settled && !('late' in settled)) return record(query, settled)
      // Also when the search ends here: the audit log names every source that was queried.
      leaveRunning(query, outcome, performance.now() - startedAt)
      return settled?.late
    },
    /** The result of the search. A miss or a failure waits for the slow sources: one of them may have the record. */
    conclude: async (queries: readonly SourceQuery<T>[], answer?: Answer<T>): Promise<Answer<T>> => {
      if (answer && (late.length === 0 || isMatch(answer))) return answer
      const last = await Promise.race([endedLate, Promise.all(late)])
      if ('late' in last) return last.late
      if (answer?.found) return answer
      // A blocked number without a record is neither verified nor "not found".
      if (isWatchlisted) throw searchError(queries, undefined, failure)
      if (answer) return answer
      // A source that failed or was skipped might have the record.
      if (isMissed && !failure && !isSkipped) return { found: false }
      throw searchError(queries, failure?.reason, failure)
    },
  }
}

const toMarked = <T>(answer: Answer<T>, markWatchlisted: Search<T>['markWatchlisted']): Answer<T> =>
  answer.found && markWatchlisted ? { ...answer, record: markWatchlisted(answer.record) } : answer

/** Retry-After is the shortest cooldown of the sources, when that is longer than our default. */
function searchError<T>(
  queries: readonly SourceQuery<T>[],
  reason: SourceFailure | undefined,
  cause: SourceError | undefined,
) {
  const code = reason ? CODE_OF_FAILURE[reason] : 'source_unavailable'
  if (code !== 'source_unavailable') return new AppError(code, { cause })
  const waits = queries.flatMap(({ guard }) => guard?.retryAfterMs() ?? [])
  const seconds = waits.length === 0 ? 0 : Math.ceil(Math.min(...waits) / 1000)
  const headers = seconds > ERRORS[code].retryAfterS ? { 'retry-after': String(seconds) } : {}
  return new AppError(code, { cause, headers })
}

/** The outcome of a call, or undefined when it is slow and the next source should be queried as well. */
async function waitUntilHedge<T>(outcome: Promise<T>, permit: Permit): Promise<T | undefined> {
  for (;;) {
    const ms = permit.hedgeAfterMs()
    // Also when it is due: an answer that has arrived is read before a second call is paid for.
    const settled = await within(outcome, Math.max(ms, 0))
    if (settled !== undefined) return settled
    if (ms <= 0) break
  }
  permit.recordHang()
  return undefined
}

/** Undefined when the work takes longer. */
async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  // Immediates run after sockets were read.
  const timer = setTimeout(() => setImmediate(resolve, undefined), ms)
  // The search may end without awaiting it again: its failure must not become an unhandled rejection.
  work.catch(() => {})
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
