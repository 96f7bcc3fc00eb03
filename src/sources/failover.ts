import { orWhenAborted, ranMs } from '../telemetry/running-clock.ts'
import type { Permit, SkipReason } from './guard/call-guard.ts'
import {
  createSearchProgress,
  type Outcome,
  type Search,
  type SourceAttempt,
  type SourceQuery,
} from './search.ts'
import { type Answer, SourceError } from './source.ts'

const MAX_PAID = 2

/**
 * Queries the sources in order. An answer ends the search, a SourceError leads to the next source, any other error is our
 * bug. When a source is slow, the next one is queried as well (a hedge), and the first matching record ends the search. At
 * most two queries are paid for. While a source has not answered, the result is never "not found".
 */
export async function queryInOrder<T>(
  queries: readonly SourceQuery<T>[],
  search: Search<T>,
): Promise<Answer<T>> {
  const progress = createSearchProgress(search)
  let storeFailure: { readonly error: unknown } | undefined
  for (const [index, query] of queries.entries()) {
    if (query.guard && progress.paid() >= MAX_PAID) continue
    const permit = await admitInTime(query, search).catch((error): typeof TOO_LATE => {
      storeFailure = { error }
      return TOO_LATE
    })
    if (permit === TOO_LATE) {
      progress.timeOut(query)
      break
    }
    if (typeof permit === 'string') {
      progress.skip(query, permit)
      search.trace?.startAttempt(query.name, true).end(permit)
      continue
    }
    if (progress.lateAnswer()) {
      permit?.release()
      break
    }
    const outcome = queryOne(query, permit, search)
    const mayPay = progress.paid() + 1 < MAX_PAID
    const canHedge = queries.slice(index + 1).some(({ guard }) => !guard || (mayPay && guard.isAvailable()))
    const answer = await progress.take(query, outcome, canHedge ? permit : undefined)
    if (answer) return progress.conclude(queries, answer)
  }
  // A slow source may still answer, and is paid for.
  return progress.conclude(queries).catch((error) => Promise.reject(storeFailure?.error ?? error))
}

const TOO_LATE = 'too_late'

/** Waits for the permit until the deadline. A permit that arrives later is released. */
async function admitInTime<T>(
  { guard }: SourceQuery<T>,
  { signal, paidCalls, keyId, person, beforePaying = (work) => work() }: Search<T>,
): Promise<Permit | SkipReason | typeof TOO_LATE | undefined> {
  if (signal?.aborted) return TOO_LATE
  if (!guard) return undefined
  let admitting: Promise<Permit | SkipReason> | undefined
  const admit = () => {
    admitting = guard.admit({ paidCalls, keyId, person })
    return admitting
  }
  const release = (late: Permit | SkipReason) => typeof late !== 'string' && late.release()
  const releaseLate = () => void admitting?.then(release, () => {})
  try {
    const permit = await orWhenAborted(beforePaying(admit), signal, (): typeof TOO_LATE => TOO_LATE)
    if (!signal?.aborted) return permit
  } catch (error) {
    releaseLate()
    throw error
  }
  releaseLate()
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
  return result.result === 'names_differ' ? { failure: namesDifferError(query.name) } : outcome
}

/** For the search, it is a failure of the source: another one may have the record. */
const namesDifferError = (name: string) =>
  new SourceError(name, 'bad_response', { problem: 'names_differ', fault: 'request' })

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

/** A vendor's reference for the audit log. Undefined when it could contain a person's number, phone or name. */
export function toCleanReference(
  reference: unknown,
  secrets: readonly string[],
  record?: unknown,
): string | undefined {
  const text = typeof reference === 'number' ? String(reference) : reference
  if (typeof text !== 'string' || !/^[A-Za-z0-9._:-]{1,100}$/.test(text)) return undefined
  // Letters alone may be a person's name, and 10 to 13 digits alone a person's number.
  if (!/\d/.test(text) || /^\d{10,13}$/.test(text)) return undefined
  const digits = toDigits(text)
  const lower = text.toLowerCase()
  const personal = listPersonal(record)
  const isPersonal =
    secrets.some((secret) => digits.includes(secret)) ||
    personal.digits.some((secret) => digits.includes(secret)) ||
    personal.words.some((word) => lower.includes(word))
  return isPersonal ? undefined : text
}

type Personal = { readonly digits: readonly string[]; readonly words: readonly string[] }

const MIN_DIGITS = 7
const PHONE_CORE = 10
/** Names count from three letters. Words of an address count from five: shorter ones occur inside other words. */
const MIN_NAME = 3
const MIN_WORD = 5

/** The numbers and words of a record that identify the person. */
function listPersonal(record: unknown): Personal {
  const values = listTexts('', record)
  const numbers = values.map(([, text]) => toDigits(text)).filter((text) => text.length >= MIN_DIGITS)
  return {
    // A phone may be written without its 0 or 234.
    digits: numbers.flatMap((text) => [text, text.slice(-PHONE_CORE)]),
    words: values.flatMap(([field, text]) => {
      const least = field.includes('name') ? MIN_NAME : MIN_WORD
      return text
        .normalize('NFD')
        .replace(/\p{M}/gu, '')
        .toLowerCase()
        .split(/[^a-z]+/)
        .filter((word) => word.length >= least)
    }),
  }
}

function listTexts(field: string, value: unknown): (readonly [field: string, text: string])[] {
  if (typeof value === 'string') return [[field, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => listTexts(name, inner))
}

const toDigits = (text: string) => text.replace(/[^0-9]/g, '')

/** Identical requests of one key share the calls to the sources, so that a double click is not paid for twice. */
export type SingleFlight = {
  readonly share: <T>(
    question: readonly string[],
    queries: readonly SourceQuery<T>[],
    search: Search<T>,
  ) => Promise<Answer<T>>
}

type Flight = { readonly answer: Promise<Answer<unknown>>; readonly sourceAttempts: readonly SourceAttempt[] }

export function createSingleFlight(): SingleFlight {
  const flights = new Map<string, Flight>()
  return {
    share: async <T>(question: readonly string[], queries: readonly SourceQuery<T>[], search: Search<T>) => {
      const name = question.join('|')
      for (let known = flights.get(name); known; known = flights.get(name)) {
        const answer = await known.answer.catch(() => undefined)
        // The first request could not pay for a call. This one may have paid calls left.
        if (!answer && known.sourceAttempts.some(({ result }) => result === 'paid_calls')) continue
        return finish<T>(known, search)
      }
      const flight = start(queries, search)
      flights.set(name, flight)
      const remove = () => flights.delete(name)
      flight.answer.then(remove, remove)
      return finish<T>(flight, search)
    },
  }
}

async function finish<T>(flight: Flight, search: Search<T>): Promise<Answer<T>> {
  try {
    return (await flight.answer) as Answer<T>
  } finally {
    search.sourceAttempts.push(...flight.sourceAttempts)
  }
}

function start<T>(queries: readonly SourceQuery<T>[], search: Search<T>): Flight {
  const sourceAttempts: SourceAttempt[] = []
  return { sourceAttempts, answer: queryInOrder(queries, { ...search, sourceAttempts }) }
}
