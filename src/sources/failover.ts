import { AppError, ERRORS, type ErrorCode } from '../errors.ts'
import { orWhenAborted, ranMs } from '../telemetry/running-clock.ts'
import type { RequestTrace } from '../telemetry/tracing.ts'
import { type CallGuard, isPaid, type Pay, type Permit, type SkipReason } from './guard/call-guard.ts'
import { toCleanReference } from './record.ts'
import { createSeen, isUnusable, type Seen } from './seen.ts'
import { createSlowCalls, MAX_PAID, type Outcome, waitUntilHedge } from './slow-calls.ts'
import { type Answer, SourceError, type SourceFailure } from './source.ts'
import type { SourceProblem } from './source-problem.ts'

/** Without the vendors whose answer is known, unless that leaves no vendor. */
function toOpenQueries<T>(
  queries: readonly SourceQuery<T>[],
  { seen }: Search<T>,
): readonly SourceQuery<T>[] {
  const open = queries.filter(({ name }) => !seen?.missedBy.includes(name))
  return open.some(({ guard }) => guard) ? open : queries
}

/**
 * Queries the sources in order. An answer ends the search, a SourceError leads to the next source, any other error is our
 * bug. When a source is slow, the next one is queried as well (a hedge), and the first matching record ends the search. At
 * most two queries are paid for. While a source has not answered, the result is never "not found".
 */
export async function queryInOrder<T>(all: readonly SourceQuery<T>[], search: Search<T>): Promise<Answer<T>> {
  const queries = toOpenQueries(all, search)
  const progress = createSearchProgress(search)
  const ask = (query: SourceQuery<T>) => askNext(query, queries, search, progress)
  /** Their call would be one too many. */
  const leftOut: SourceQuery<T>[] = []
  for (const query of queries) {
    if (query.guard && progress.paid() >= MAX_PAID) leftOut.push(query)
    else {
      const end = await ask(query)
      if (end) return end.conclude()
    }
  }
  for (const query of leftOut) {
    // A slow call that never left this server is not paid for.
    if (!(await progress.becomesUnpaid())) break
    const end = await ask(query)
    if (end) return end.conclude()
  }
  // A slow source may still answer, and is paid for.
  return progress.conclude(queries)
}

/** Asks one source. The search goes on with the next one, unless it is known how it ends. */
async function askNext<T>(
  query: SourceQuery<T>,
  queries: readonly SourceQuery<T>[],
  search: Search<T>,
  progress: SearchProgress<T>,
): Promise<{ readonly conclude: () => Promise<Answer<T>> } | undefined> {
  let storeFailure: { readonly error: unknown } | undefined
  const permit = await admitInTime(query, search).catch((error): typeof TOO_LATE => {
    storeFailure = { error }
    return TOO_LATE
  })
  if (permit === TOO_LATE) {
    progress.timeOut(query)
    return {
      conclude: () =>
        progress.conclude(queries).catch((error) => Promise.reject(storeFailure?.error ?? error)),
    }
  }
  if (typeof permit === 'string') {
    progress.skip(query, permit)
    search.trace?.startAttempt(query.name, true).end(permit)
    return undefined
  }
  if (progress.lateAnswer()) {
    permit?.release()
    return { conclude: () => progress.conclude(queries) }
  }
  const outcome = queryOne(query, permit, search)
  const mayPay = progress.paid() + 1 < MAX_PAID
  const after = queries.slice(queries.indexOf(query) + 1)
  const canHedge = after.some(({ guard }) => !guard || (mayPay && guard.isAvailable()))
  const answer = await progress.take(query, outcome, canHedge ? permit : undefined)
  return answer && { conclude: () => progress.conclude(queries, answer) }
}

const TOO_LATE = 'too_late'

/** Waits for the permit until the deadline. A permit that arrives later is released. A source without a guard needs none. */
async function admitInTime<T>(
  { guard }: SourceQuery<T>,
  { signal, begin, pay, person, lineage }: Search<T>,
): Promise<Permit | SkipReason | typeof TOO_LATE | undefined> {
  if (signal?.aborted) return TOO_LATE
  if (!guard) {
    await begin()
    return undefined
  }
  const admitting = guard.admit({ pay, person, lineage, signal })
  const permit = await orWhenAborted(admitting, signal, (): typeof TOO_LATE => TOO_LATE)
  if (!signal?.aborted) return permit
  const release = (late: Permit | SkipReason) => typeof late !== 'string' && late.release()
  void admitting.then(release, () => {})
  return TOO_LATE
}

/** Queries one source and records the attempt. */
async function queryOne<T>(
  query: SourceQuery<T>,
  permit: Permit | undefined,
  search: Search<T>,
): Promise<Outcome<T>> {
  const startedAt = performance.now()
  const span = search.trace?.startAttempt(query.name, query.guard !== undefined)
  const outcome = await queryWithRetry(query, search, span?.traceparent)
  const ms = Math.round(ranMs(startedAt))
  if ('bug' in outcome) {
    search.sourceAttempts.push({ name: query.name, result: 'error', ms })
    span?.end('error')
    permit?.settle(new SourceError(query.name, 'bad_response'), ms)
    throw outcome.bug
  }
  const result = toResult(outcome, search)
  search.sourceAttempts.push({ name: query.name, ms, ...result })
  span?.end(result.result)
  permit?.settle(toCallOutcome(outcome), ms)
  return result.result === 'names_differ' ? { failure: unusableError(query.name, 'names_differ') } : outcome
}

/** For the search, it is a failure of the source: another one may have the record. */
const unusableError = (name: string, problem: SourceProblem) =>
  new SourceError(name, 'bad_response', { problem, fault: 'request' })

/** A number that is watch-listed or has other names counts as found: the source knows it. */
const toCallOutcome = <T>(outcome: Outcome<T>) => {
  if ('failure' in outcome) return outcome.failure
  return toAnswerResult(outcome.answer) === 'not_found' ? 'not_found' : 'found'
}

function toAnswerResult<T>(answer: Answer<T>): 'found' | 'watchlisted' | 'names_differ' | 'not_found' {
  if (answer.found) return 'found'
  if (answer.watchlisted) return 'watchlisted'
  return answer.namesDiffer ? 'names_differ' : 'not_found'
}

function toResult<T>(
  outcome: Outcome<T>,
  { secrets = [] }: Search<T>,
): Pick<SourceAttempt, 'result' | 'reference'> {
  if ('failure' in outcome) return { result: outcome.failure.reason }
  const { answer } = outcome
  const result = toAnswerResult(answer)
  const reference = toCleanReference(answer.reference, secrets, answer.found ? answer.record : undefined)
  return reference === undefined ? { result } : { result, reference }
}

/** Repeats the query once if it certainly was not sent. */
async function queryWithRetry<T>(
  { name, query }: SourceQuery<T>,
  { signal }: Search<T>,
  traceparent: string | undefined,
): Promise<{ answer: Answer<T> } | { failure: SourceError } | { bug: unknown }> {
  for (const isLast of [false, true]) {
    try {
      return { answer: await untilAborted(name, query(traceparent), signal) }
    } catch (error) {
      if (!(error instanceof SourceError)) return { bug: error }
      if (isLast || signal?.aborted || !mayRetry(error)) return { failure: error }
    }
  }
  throw new Error('unreachable')
}

/** Fails at the deadline even when the source ignores the signal. */
const untilAborted = <T>(name: string, work: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  orWhenAborted(work, signal, () => {
    throw new SourceError(name, 'timeout', { problem: 'too_slow', fault: 'deadline' })
  })

/** A slow connection or a wrong setting would fail again. */
const mayRetry = ({ sent, reason, problem }: SourceError) =>
  !sent && reason === 'unreachable' && problem !== 'slow_connection'

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
  /** What earlier searches for this verification have found out; filled by this one, which may fail nevertheless. */
  readonly seen?: Seen
  /** Writes that the sources are about to be asked, unless that is written already. Throws `NotBegun` if they must not be. */
  readonly begin: () => Promise<void>
  /** The same, with the price of a call. */
  readonly pay: Pay
  /** The number that is asked about: the guards tell people apart by it. */
  readonly person?: string
  /** That of the caller's key: keys take turns at the connections to a vendor. */
  readonly lineage: string
  /** Numbers that must not be written to the audit log, even when a vendor's reference contains them. */
  readonly secrets?: readonly string[]
  readonly trace?: Pick<RequestTrace, 'startAttempt'> | undefined
}

const CODE_OF_FAILURE: Readonly<Record<SourceFailure, ErrorCode>> = {
  unreachable: 'source_unavailable',
  refused: 'source_unavailable',
  throttled: 'source_unavailable',
  no_records: 'source_unavailable',
  timeout: 'source_timeout',
  bad_response: 'source_bad_response',
}

/** The error for the caller when the only source failed. */
export const sourceFailedError = (cause: SourceError): AppError =>
  new AppError(CODE_OF_FAILURE[cause.reason], { cause })

/** What the sources have said so far. */
function createFindings<T>({ continueOnNotFound, matches, markWatchlisted, seen = createSeen() }: Search<T>) {
  let failure: SourceError | undefined
  const isMatch = (answer: Answer<T>) => answer.found && (matches === undefined || matches(answer.record))
  const endsSearch = (answer: Answer<T>) =>
    answer.found ? !continueOnNotFound || isMatch(answer) : !continueOnNotFound && !seen.isWatchlisted
  const mark = (answer: Answer<T>) => (seen.isWatchlisted ? toMarked(answer, markWatchlisted) : answer)
  const recordFailure = ({ name, guard }: SourceQuery<T>, failed: SourceError): undefined => {
    failure = failed
    if (isOfGuess(failed)) seen.hasMiss = true
    if (!guard || !isUnusable(failed.problem)) return
    seen.unusable = { source: name, problem: failed.problem }
    seen.missedBy = [...seen.missedBy, name]
  }
  const recordMiss = ({ name, guard }: SourceQuery<T>, answer: Answer<T>): undefined => {
    seen.hasMiss = true
    if (answer.found) seen.hasRecord = true
    if (guard) seen.missedBy = [...seen.missedBy, name]
  }
  /** Records an outcome. Returns the answer if it ends the search. */
  const record = (query: SourceQuery<T>, outcome: Outcome<T>): Answer<T> | undefined => {
    if (seen.unusable?.source === query.name) seen.unusable = undefined
    if ('failure' in outcome) return recordFailure(query, outcome.failure)
    const { answer } = outcome
    if (!answer.found && answer.watchlisted) seen.isWatchlisted = true
    return endsSearch(answer) ? mark(answer) : recordMiss(query, answer)
  }
  const fail = (failed: SourceError): void => {
    failure = failed
  }
  /** The result of a search that found no record. */
  const end = (queries: readonly SourceQuery<T>[], isSkipped: boolean, answer?: Answer<T>): Answer<T> => {
    // A blocked number without a record is neither verified nor "not found".
    if (seen.isWatchlisted && !seen.hasRecord) throw searchError(queries, undefined, failure)
    if (answer) return answer
    const { unusable } = seen
    const failed = failure ?? (unusable && unusableError(unusable.source, unusable.problem))
    // A source that failed or was skipped might have the record.
    if (seen.hasMiss && !failed && !isSkipped) return { found: false }
    throw searchError(queries, failed?.reason, failed)
  }
  return { isMatch, record, fail, end }
}

/** The outcomes of one search so far, and the result that follows from them. */
function createSearchProgress<T>(search: Search<T>) {
  const { sourceAttempts, paid = { calls: 0 } } = search
  const { isMatch, record, fail, end } = createFindings(search)
  let isSkipped = false
  let lateAnswer: Answer<T> | undefined
  const late: Promise<Outcome<T>>[] = []
  const slow = createSlowCalls(paid)
  const { promise: endedLate, resolve: endLate } = Promise.withResolvers<{ late: Answer<T> }>()
  const countPaid = ({ guard }: SourceQuery<T>, outcome: Outcome<T>): void => {
    if (guard && (!('failure' in outcome) || isPaid(outcome.failure))) paid.calls += 1
  }
  /** Stops waiting for a query. It counts as paid until it is known that it is not, and its late answer may still end the search. */
  const leaveRunning = (query: SourceQuery<T>, outcome: Promise<Outcome<T>>, ms: number): undefined => {
    late.push(outcome)
    sourceAttempts.push({ name: query.name, result: 'slow', ms: Math.round(ms) })
    const recordLate = (settled: Outcome<T>) => {
      lateAnswer ??= record(query, settled)
      if (lateAnswer) endLate({ late: lateAnswer })
    }
    slow.add(outcome, recordLate)
  }
  return {
    paid: () => paid.calls,
    /** Waits until another call may be paid for. False if none may, or a slow one has ended the search. */
    becomesUnpaid: () => slow.becomeUnpaid(() => lateAnswer !== undefined),
    /** The answer of a slow source that has ended the search meanwhile. */
    lateAnswer: () => lateAnswer,
    /** The guard refused the call. A source that the operator has disabled does not prevent "not found". */
    skip: ({ name }: SourceQuery<T>, result: SkipReason): void => {
      if (result !== 'disabled') isSkipped = true
      sourceAttempts.push({ name, result, ms: 0 })
    },
    /** The deadline passed before this source was queried. */
    timeOut: ({ name }: SourceQuery<T>): void => {
      fail(new SourceError(name, 'timeout', { problem: 'too_slow', sent: false, fault: 'deadline' }))
    },
    /** Returns the answer if it ends the search. With a permit, it waits only until the hedge is due. */
    take: async (
      query: SourceQuery<T>,
      outcome: Promise<Outcome<T>>,
      permit: Permit | undefined,
    ): Promise<Answer<T> | undefined> => {
      const startedAt = performance.now()
      const settled = await Promise.race([endedLate, permit ? waitUntilHedge(outcome, permit) : outcome])
      if (settled && !('late' in settled)) {
        countPaid(query, settled)
        return record(query, settled)
      }
      // Also when the search ends here: the audit log names every source that was queried.
      leaveRunning(query, outcome, performance.now() - startedAt)
      return settled?.late
    },
    /** The result of the search. A miss or a failure waits for the slow sources: one of them may have the record. */
    conclude: async (queries: readonly SourceQuery<T>[], answer?: Answer<T>): Promise<Answer<T>> => {
      if (answer && (late.length === 0 || isMatch(answer))) return answer
      const last = await Promise.race([endedLate, Promise.all(late)])
      if ('late' in last) return last.late
      return answer?.found ? answer : end(queries, isSkipped, answer)
    },
  }
}

type SearchProgress<T> = ReturnType<typeof createSearchProgress<T>>

/** The phone is none of those in the record that can be read, or the names differ. */
export const isOfGuess = ({ problem }: SourceError): boolean =>
  problem === 'mixed_phones' || problem === 'names_differ'

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

/** The sources must not be asked for this request. It says nothing about identical requests. */
export class NotBegun extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('the request was refused before a source was asked', { cause: reason })
    this.name = 'NotBegun'
    this.reason = reason
  }
}
