import { AppError, ERRORS, type ErrorCode } from '../errors.ts'
import { isPaid, type Permit, type SkipReason } from './guard/call-guard.ts'
import type { Outcome, Search, SourceQuery } from './search.ts'
import { type Answer, SourceError, type SourceFailure } from './source.ts'
import { waitPatiently } from './waiting.ts'

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

/** What the search has come to so far. */
export function createTally<T>({
  continueOnNotFound: askNext,
  matches: fits,
  markWatchlisted,
  sourceAttempts,
}: Search<T>) {
  let paid = 0
  let missed = false
  let passedOver = false
  let watchlisted = false
  let failure: SourceError | undefined
  let lateAnswer: Answer<T> | undefined
  const late: Promise<Outcome<T>>[] = []
  const { promise: settledLate, resolve: settleLate } = Promise.withResolvers<{ settled: Answer<T> }>()
  const isHit = (answer: Answer<T>) => answer.found && (fits === undefined || fits(answer.record))
  const settles = (answer: Answer<T>) => (answer.found ? !askNext || isHit(answer) : !askNext && !watchlisted)
  const mark = (answer: Answer<T>): Answer<T> =>
    watchlisted && answer.found && markWatchlisted
      ? { ...answer, record: markWatchlisted(answer.record) }
      : answer
  /** Takes the outcome of a question into account: the answer, if it ends the search. */
  const weigh = ({ guard }: Pick<SourceQuery<T>, 'guard'>, outcome: Outcome<T>): Answer<T> | undefined => {
    if ('failure' in outcome) {
      failure = outcome.failure
      if (guard && isPaid(failure)) paid += 1
      return undefined
    }
    if (guard) paid += 1
    if (!outcome.answer.found && outcome.answer.watchlisted) watchlisted = true
    if (settles(outcome.answer)) return mark(outcome.answer)
    missed = true
    return undefined
  }
  /** A question that is still on its way: it will have been paid for. Its answer may still end the search. */
  const leave = ({ name }: SourceQuery<T>, asked: Promise<Outcome<T>>, ms: number): undefined => {
    paid += 1
    late.push(asked)
    sourceAttempts.push({ name, result: 'slow', ms: Math.round(ms) })
    const weighLate = (outcome: Outcome<T>) => {
      lateAnswer ??= weigh({}, outcome)
      if (lateAnswer) settleLate({ settled: lateAnswer })
    }
    asked.then(weighLate, () => {})
  }
  return {
    paid: () => paid,
    /** Whether a source that was not waited for has ended the search meanwhile. */
    lateAnswer: () => lateAnswer,
    /** A source that may not be asked now. One that the operator has switched off is not missed. */
    passOver: ({ name }: SourceQuery<T>, result: SkipReason): void => {
      if (result !== 'disabled') passedOver = true
      sourceAttempts.push({ name, result, ms: 0 })
    },
    /** The time is over before this one was asked. */
    giveUp: ({ name }: SourceQuery<T>): void => {
      failure = new SourceError(name, 'timeout', { trouble: 'too_slow', sent: false, fault: 'deadline' })
    },
    /** The answer, if it ends the search. With a pass, the question is waited for only so long. */
    take: async (
      ask: SourceQuery<T>,
      asked: Promise<Outcome<T>>,
      pass: Permit | undefined,
    ): Promise<Answer<T> | undefined> => {
      const startedAt = performance.now()
      const outcome = await Promise.race([settledLate, pass ? waitPatiently(asked, pass) : asked])
      if (outcome && !('settled' in outcome)) return weigh(ask, outcome)
      // Also when the search ends here: the source was asked, and the audit log has every source that was.
      leave(ask, asked, performance.now() - startedAt)
      return outcome?.settled
    },
    /** A miss, or no answer, is not the end while a source that was asked before may still know the person. */
    conclude: async (asks: readonly SourceQuery<T>[], answer?: Answer<T>): Promise<Answer<T>> => {
      if (answer && (late.length === 0 || isHit(answer))) return answer
      const later = await Promise.race([settledLate, Promise.all(late)])
      if ('settled' in later) return later.settled
      if (answer?.found) return answer
      // A blocked number without a record is neither verified nor "not found".
      if (watchlisted) throw toError(asks, undefined, failure)
      if (answer) return answer
      // A source that failed, or could not be asked, might have known better than one that found nobody.
      if (missed && !failure && !passedOver) return { found: false }
      throw toError(asks, failure?.reason, failure)
    },
  }
}

/** When every source wants to be left alone for longer than usual, the caller is told to wait as long. */
function toError<T>(
  asks: readonly SourceQuery<T>[],
  reason: SourceFailure | undefined,
  cause: SourceError | undefined,
) {
  const code = reason ? CODE_OF_FAILURE[reason] : 'source_unavailable'
  if (code !== 'source_unavailable') return new AppError(code, { cause })
  const waits = asks.flatMap(({ guard }) => guard?.retryAfterMs() ?? [])
  const seconds = waits.length === 0 ? 0 : Math.ceil(Math.min(...waits) / 1000)
  const headers = seconds > ERRORS[code].retryAfterS ? { 'retry-after': String(seconds) } : {}
  return new AppError(code, { cause, headers })
}
