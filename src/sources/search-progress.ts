import { AppError, ERRORS, type ErrorCode } from '../errors.ts'
import { isPaid, type Permit, type SkipReason } from './guard/call-guard.ts'
import type { Outcome, Search, SourceQuery } from './search.ts'
import { type Answer, SourceError, type SourceFailure } from './source.ts'
import { waitUntilHedge } from './waiting.ts'

const CODE_OF_FAILURE: Readonly<Record<SourceFailure, ErrorCode>> = {
  unreachable: 'source_unavailable',
  refused: 'source_unavailable',
  throttled: 'source_unavailable',
  timeout: 'source_timeout',
  bad_response: 'source_bad_response',
}

/** The error for the caller when the only source failed. */
export const toSourceFailure = (cause: SourceError): AppError =>
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
      if (isWatchlisted) throw toError(queries, undefined, failure)
      if (answer) return answer
      // A source that failed or was skipped might have the record.
      if (isMissed && !failure && !isSkipped) return { found: false }
      throw toError(queries, failure?.reason, failure)
    },
  }
}

const toMarked = <T>(answer: Answer<T>, markWatchlisted: Search<T>['markWatchlisted']): Answer<T> =>
  answer.found && markWatchlisted ? { ...answer, record: markWatchlisted(answer.record) } : answer

/** Retry-After is the shortest cooldown of the sources, when that is longer than our default. */
function toError<T>(
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
