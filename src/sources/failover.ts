import { AppError, type ErrorCode } from '../errors.ts'
import { isPaid, type PaidCalls, type Pass, type Post, type Skip } from './post.ts'
import { toCleanReference } from './reference.ts'
import { type Answer, SourceError, type SourceFailure } from './source.ts'

const CODE_OF_FAILURE: Readonly<Record<SourceFailure, ErrorCode>> = {
  unreachable: 'source_unavailable',
  refused: 'source_unavailable',
  throttled: 'source_unavailable',
  timeout: 'source_timeout',
  bad_response: 'source_bad_response',
}

/** One source that was asked or passed over: what came of it, and how long it took. For the audit. */
export type Tried = {
  readonly name: string
  readonly result: 'found' | 'not_found' | 'watchlisted' | 'reused' | 'slow' | 'error' | SourceFailure | Skip
  readonly ms: number
  /** The vendor's own name for its answer. */
  readonly reference?: string
}

export type SourceAsk<T> = {
  readonly name: string
  readonly ask: () => Promise<Answer<T>>
  /** Sources inside the house have none: they cost nothing and are always there. */
  readonly post?: Post | undefined
}

export type Search<T> = {
  readonly trail: Tried[]
  /** Nobody waits longer. Absent where all sources are inside the house. */
  readonly signal: AbortSignal | undefined
  /** Whether a record settles the question; otherwise it counts as not found. */
  readonly fits?: (record: T) => boolean
  /** Whether "not found" lets the next source be asked. */
  readonly askNext?: boolean
  /** The record with a watch list entry, for a number that an earlier source called blocked. */
  readonly markWatchlisted?: ((record: T) => T) | undefined
  /** Absent without an Idempotency-Key. */
  readonly paidCalls?: PaidCalls | undefined
  /** What must not be written down, should a vendor put it into its reference. */
  readonly secrets?: readonly string[]
}

const MOST_PAID = 2
/** A source that may be ill is not waited for: after this long, the next one is asked as well. */
const PROBE_MS = 200

type Outcome<T> = { readonly answer: Answer<T> } | { readonly failure: SourceError }

/**
 * Asks the sources in order. An answer ends the search, a SourceError tries the next, anything else is our bug. At most two
 * questions are asked that cost money. Whoever was not asked, or not to the end, might have known: that is never "not found".
 */
export async function askInOrder<T>(asks: readonly SourceAsk<T>[], search: Search<T>): Promise<Answer<T>> {
  const tally = createTally(search)
  for (const [index, ask] of asks.entries()) {
    if (ask.post && tally.paid() >= MOST_PAID) continue
    const pass = await admitInTime(ask, search)
    if (pass === TOO_LATE) {
      tally.giveUp(ask)
      break
    }
    if (typeof pass === 'string') {
      tally.passOver(ask, pass)
      continue
    }
    const asked = askOne(ask, pass, search)
    const isWaitedFor = !pass?.isProbe || index === asks.length - 1
    const outcome = isWaitedFor ? await asked : await within(asked, PROBE_MS)
    const answer = outcome ? tally.weigh(ask, outcome) : tally.leave(ask, asked)
    if (answer) return answer
  }
  return tally.conclude()
}

const TOO_LATE = 'too_late'

/** The right to ask, if it comes in time. One that comes later is given back. */
async function admitInTime<T>(
  { post }: SourceAsk<T>,
  { signal, paidCalls }: Search<T>,
): Promise<Pass | Skip | typeof TOO_LATE | undefined> {
  if (signal?.aborted) return TOO_LATE
  if (!post) return undefined
  const admitting = post.admit(paidCalls)
  const pass = await orWhenAborted(admitting, signal, (): typeof TOO_LATE => TOO_LATE)
  if (!signal?.aborted) return pass
  const giveBack = (late: Pass | Skip) => typeof late !== 'string' && late.release()
  admitting.then(giveBack, () => {})
  return TOO_LATE
}

/** What the search has come to so far. */
function createTally<T>({ askNext, fits, markWatchlisted, trail }: Search<T>) {
  let paid = 0
  let missed = false
  let passedOver = false
  let watchlisted = false
  let failure: SourceError | undefined
  const late: Promise<Outcome<T>>[] = []
  const settles = (answer: Answer<T>) =>
    answer.found ? !askNext || fits === undefined || fits(answer.record) : !askNext && !watchlisted
  const mark = (answer: Answer<T>): Answer<T> =>
    watchlisted && answer.found && markWatchlisted
      ? { ...answer, record: markWatchlisted(answer.record) }
      : answer
  /** Takes the outcome of a question into account: the answer, if it ends the search. */
  const weigh = ({ post }: Pick<SourceAsk<T>, 'post'>, outcome: Outcome<T>): Answer<T> | undefined => {
    if ('failure' in outcome) {
      failure = outcome.failure
      if (post && isPaid(failure)) paid += 1
      return undefined
    }
    if (post) paid += 1
    if (!outcome.answer.found && outcome.answer.watchlisted) watchlisted = true
    if (settles(outcome.answer)) return mark(outcome.answer)
    missed = true
    return undefined
  }
  return {
    paid: () => paid,
    weigh,
    /** A source that may not be asked now. One that the operator has switched off is not missed. */
    passOver: ({ name }: SourceAsk<T>, result: Skip): void => {
      if (result !== 'disabled') passedOver = true
      trail.push({ name, result, ms: 0 })
    },
    /** The time is over before this one was asked. */
    giveUp: ({ name }: SourceAsk<T>): void => {
      failure = new SourceError(name, 'timeout', { trouble: 'too_slow', sent: false, fault: 'deadline' })
    },
    /** A question that is still on its way: it will have been paid for. */
    leave: ({ name }: SourceAsk<T>, asked: Promise<Outcome<T>>): undefined => {
      paid += 1
      late.push(asked)
      trail.push({ name, result: 'slow', ms: PROBE_MS })
    },
    /** Nobody has settled it, but for those who are late. */
    conclude: async (): Promise<Answer<T>> => {
      const answer = await findFirst(late, (outcome) => weigh({}, outcome))
      if (answer) return answer
      // A blocked number without a record is neither verified nor "not found".
      if (watchlisted) throw new AppError('source_unavailable', { cause: failure })
      // A source that failed, or could not be asked, might have known better than one that found nobody.
      if (missed && !failure && !passedOver) return { found: false }
      throw new AppError(failure ? CODE_OF_FAILURE[failure.reason] : 'source_unavailable', { cause: failure })
    },
  }
}

/** The first that comes to something, in the order of their coming. */
function findFirst<T, R>(works: readonly Promise<T>[], judge: (value: T) => R | undefined) {
  const { promise, resolve, reject } = Promise.withResolvers<R | undefined>()
  let left = works.length
  if (left === 0) resolve(undefined)
  for (const work of works)
    work.then((value) => {
      const result = judge(value)
      left -= 1
      if (result !== undefined || left === 0) resolve(result)
    }, reject)
  return promise
}

/** Asks one source, and once more if the first question certainly never left the house. */
async function askOne<T>(ask: SourceAsk<T>, pass: Pass | undefined, search: Search<T>): Promise<Outcome<T>> {
  const startedAt = performance.now()
  const outcome = await askTwice(ask, search)
  const ms = Math.round(performance.now() - startedAt)
  if ('bug' in outcome) {
    search.trail.push({ name: ask.name, result: 'error', ms })
    pass?.settle(new SourceError(ask.name, 'bad_response'), ms)
    throw outcome.bug
  }
  search.trail.push({ name: ask.name, ms, ...toResult(outcome, search) })
  pass?.settle('failure' in outcome ? outcome.failure : undefined, ms)
  return outcome
}

function toResult<T>(outcome: Outcome<T>, { secrets = [] }: Search<T>): Pick<Tried, 'result' | 'reference'> {
  if ('failure' in outcome) return { result: outcome.failure.reason }
  const { answer } = outcome
  const result = answer.found ? 'found' : answer.watchlisted ? 'watchlisted' : 'not_found'
  const reference = toCleanReference(answer.reference, secrets, answer.found ? answer.record : undefined)
  return reference === undefined ? { result } : { result, reference }
}

async function askTwice<T>(
  { name, ask }: SourceAsk<T>,
  { signal }: Search<T>,
): Promise<{ answer: Answer<T> } | { failure: SourceError } | { bug: unknown }> {
  for (const isLast of [false, true]) {
    try {
      return { answer: await untilAborted(name, ask(), signal) }
    } catch (error) {
      if (!(error instanceof SourceError)) return { bug: error }
      if (isLast || signal?.aborted || !mayRepeat(error)) return { failure: error }
    }
  }
  throw new Error('unreachable')
}

/** A question that never left may be asked again, unless waiting or our settings were the trouble. */
const mayRepeat = ({ sent, reason, trouble }: SourceError) =>
  !sent && reason === 'unreachable' && trouble !== 'slow_connection'

/** Even a source that ignores the signal is waited for no longer. */
const untilAborted = <T>(name: string, work: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  orWhenAborted(work, signal, () => {
    throw new SourceError(name, 'timeout', { trouble: 'too_slow', fault: 'deadline' })
  })

/** What the work comes to, or something else when the signal comes first. */
function orWhenAborted<T, R>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  otherwise: () => R,
): Promise<T | R> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    // One that obeys the signal knows best what became of its question, and is given the moment to say so.
    const end = () => setImmediate(() => Promise.try(otherwise).then(resolve, reject))
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}

/** Undefined when it takes longer. */
async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, ms, undefined)
  // Should nobody come back for it, its failure is no bug.
  work.catch(() => {})
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
