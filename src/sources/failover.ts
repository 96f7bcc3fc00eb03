import type { Permit, SkipReason } from './guard/call-guard.ts'
import { toCleanReference } from './reference.ts'
import type { Outcome, Search, SourceAttempt, SourceQuery } from './search.ts'
import { type Answer, SourceError } from './source.ts'
import { createTally } from './tally.ts'
import { orWhenAborted, untilAborted } from './waiting.ts'

const MOST_PAID = 2

/**
 * Asks the sources in order. An answer ends the search, a SourceError tries the next, anything else is our bug. One that is
 * silent for too long is not waited for: the next is asked beside it, and the first record that fits ends the search. At most
 * two questions are asked that cost money. A source that is still being asked might know: that is never "not found".
 */
export async function queryInOrder<T>(
  asks: readonly SourceQuery<T>[],
  search: Search<T>,
): Promise<Answer<T>> {
  const tally = createTally(search)
  for (const [index, ask] of asks.entries()) {
    if (ask.guard && tally.paid() >= MOST_PAID) continue
    const pass = await admitInTime(ask, search)
    if (pass === TOO_LATE) {
      tally.giveUp(ask)
      break
    }
    if (typeof pass === 'string') {
      tally.passOver(ask, pass)
      continue
    }
    if (tally.lateAnswer()) {
      pass?.release()
      break
    }
    const asked = askOne(ask, pass, search)
    const mayPay = tally.paid() + 1 < MOST_PAID
    const hasNext = asks.slice(index + 1).some(({ guard }) => !guard || (mayPay && guard.isAvailable()))
    const answer = await tally.take(ask, asked, hasNext ? pass : undefined)
    if (answer) return tally.conclude(asks, answer)
  }
  return tally.conclude(asks)
}

const TOO_LATE = 'too_late'

/** The right to ask, if it comes in time. One that comes later is given back. */
async function admitInTime<T>(
  { guard }: SourceQuery<T>,
  { signal, paidCalls }: Search<T>,
): Promise<Permit | SkipReason | typeof TOO_LATE | undefined> {
  if (signal?.aborted) return TOO_LATE
  if (!guard) return undefined
  const admitting = guard.admit(paidCalls)
  const pass = await orWhenAborted(admitting, signal, (): typeof TOO_LATE => TOO_LATE)
  if (!signal?.aborted) return pass
  const giveBack = (late: Permit | SkipReason) => typeof late !== 'string' && late.release()
  admitting.then(giveBack, () => {})
  return TOO_LATE
}

/** Asks one source, and once more if the first question certainly never left the house. */
async function askOne<T>(
  ask: SourceQuery<T>,
  pass: Permit | undefined,
  search: Search<T>,
): Promise<Outcome<T>> {
  const startedAt = performance.now()
  const outcome = await askTwice(ask, search)
  const ms = Math.round(performance.now() - startedAt)
  if ('bug' in outcome) {
    search.sourceAttempts.push({ name: ask.name, result: 'error', ms })
    pass?.settle(new SourceError(ask.name, 'bad_response'), ms)
    throw outcome.bug
  }
  search.sourceAttempts.push({ name: ask.name, ms, ...toResult(outcome, search) })
  pass?.settle(toCallOutcome(outcome), ms)
  return outcome
}

/** A number that is on a watch list is known to the source. */
const toCallOutcome = <T>(outcome: Outcome<T>) => {
  if ('failure' in outcome) return outcome.failure
  return outcome.answer.found || outcome.answer.watchlisted ? 'found' : 'not_found'
}

function toResult<T>(
  outcome: Outcome<T>,
  { secrets = [] }: Search<T>,
): Pick<SourceAttempt, 'result' | 'reference'> {
  if ('failure' in outcome) return { result: outcome.failure.reason }
  const { answer } = outcome
  const result = answer.found ? 'found' : answer.watchlisted ? 'watchlisted' : 'not_found'
  const reference = toCleanReference(answer.reference, secrets, answer.found ? answer.record : undefined)
  return reference === undefined ? { result } : { result, reference }
}

async function askTwice<T>(
  { name, query }: SourceQuery<T>,
  { signal }: Search<T>,
): Promise<{ answer: Answer<T> } | { failure: SourceError } | { bug: unknown }> {
  for (const isLast of [false, true]) {
    try {
      return { answer: await untilAborted(name, query(), signal) }
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
