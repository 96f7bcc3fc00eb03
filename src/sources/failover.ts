import { AppError, type ErrorCode } from '../errors.ts'
import { isPaid, type Pass, type Post, type Skip } from './post.ts'
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
  readonly result: 'found' | 'not_found' | 'reused' | 'slow' | 'error' | SourceFailure | Skip
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
  /** Nobody waits longer. */
  readonly signal: AbortSignal
  /** Whether a record settles the question; otherwise it counts as not found. */
  readonly fits?: (record: T) => boolean
  /** Whether "not found" lets the next source be asked. */
  readonly askNext?: boolean
  /** What must not be written down, should a vendor put it into its reference. */
  readonly secrets?: readonly string[]
}

const MOST_PAID = 2
/** A source that may be ill is not waited for: after this long, the next one is asked as well. */
const PROBE_MS = 200

type Outcome<T> = { readonly answer: Answer<T> } | { readonly failure: SourceError }

/**
 * Asks the sources in order. An answer ends the search, a SourceError tries the next, anything else is our bug. At most two
 * questions are asked that cost money.
 */
export async function askInOrder<T>(asks: readonly SourceAsk<T>[], search: Search<T>): Promise<Answer<T>> {
  const tally = createTally(search)
  for (const [index, ask] of asks.entries()) {
    if (search.signal.aborted || (ask.post && tally.paid() >= MOST_PAID)) break
    const pass = await ask.post?.admit()
    if (typeof pass === 'string') {
      search.trail.push({ name: ask.name, result: pass, ms: 0 })
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

/** What the search has come to so far. */
function createTally<T>({ askNext, fits, trail }: Search<T>) {
  let paid = 0
  let missed = false
  let failure: SourceError | undefined
  const late: Promise<Outcome<T>>[] = []
  const settles = (answer: Answer<T>) =>
    !askNext || (answer.found && (fits === undefined || fits(answer.record)))
  /** Takes the outcome of a question into account: the answer, if it ends the search. */
  const weigh = ({ post }: Pick<SourceAsk<T>, 'post'>, outcome: Outcome<T>): Answer<T> | undefined => {
    if ('failure' in outcome) {
      failure = outcome.failure
      if (post && isPaid(failure)) paid += 1
      return undefined
    }
    if (post) paid += 1
    if (settles(outcome.answer)) return outcome.answer
    missed = true
    return undefined
  }
  return {
    paid: () => paid,
    weigh,
    /** A question that is still on its way: it will have been paid for. */
    leave: ({ name }: SourceAsk<T>, asked: Promise<Outcome<T>>): undefined => {
      paid += 1
      late.push(asked)
      trail.push({ name, result: 'slow', ms: PROBE_MS })
    },
    /** Nobody has settled it, but for those who are late. */
    conclude: async (): Promise<Answer<T>> => {
      for (const asked of late) {
        const answer = weigh({}, await asked)
        if (answer) return answer
      }
      // A source that failed might have known better than one that found nobody.
      if (missed && !failure) return { found: false }
      throw new AppError(failure ? CODE_OF_FAILURE[failure.reason] : 'source_unavailable', { cause: failure })
    },
  }
}

/** Asks one source, and once more if the first question certainly never left the house. */
async function askOne<T>(ask: SourceAsk<T>, pass: Pass | undefined, search: Search<T>): Promise<Outcome<T>> {
  const startedAt = performance.now()
  const outcome = await askTwice(ask, search)
  const ms = Math.round(performance.now() - startedAt)
  if ('answer' in outcome) {
    const { found, reference } = outcome.answer
    const clean = toCleanReference(reference, search.secrets ?? [])
    search.trail.push({
      name: ask.name,
      result: found ? 'found' : 'not_found',
      ms,
      ...(clean === undefined ? {} : { reference: clean }),
    })
  } else if ('bug' in outcome) {
    search.trail.push({ name: ask.name, result: 'error', ms })
    await pass?.settle(new SourceError(ask.name, 'bad_response'), ms)
    throw outcome.bug
  } else search.trail.push({ name: ask.name, result: outcome.failure.reason, ms })
  await pass?.settle('failure' in outcome ? outcome.failure : undefined, ms)
  return outcome
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
      if (isLast || signal.aborted || !mayRepeat(error)) return { failure: error }
    }
  }
  throw new Error('unreachable')
}

/** A question that never left may be asked again, unless waiting or our settings were the trouble. */
const mayRepeat = ({ sent, reason }: SourceError) => !sent && reason === 'unreachable'

/** Even a source that ignores the signal is waited for no longer. */
function untilAborted<T>(name: string, work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = () => reject(new SourceError(name, 'timeout', { trouble: 'too_slow' }))
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
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

/** A vendor's reference goes into the audit log as it is, so it must be a plain name and not somebody's number. */
function toCleanReference(reference: unknown, secrets: readonly string[]): string | undefined {
  const text = typeof reference === 'number' ? String(reference) : reference
  if (typeof text !== 'string' || !/^[A-Za-z0-9._:-]{1,100}$/.test(text)) return undefined
  const digits = text.replace(/[^0-9]/g, '')
  return secrets.some((secret) => digits.includes(secret)) ? undefined : text
}
