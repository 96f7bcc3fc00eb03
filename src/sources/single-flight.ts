import { NotBegun, queryInOrder, type Search, type SourceAttempt, type SourceQuery } from './failover.ts'
import { addSeen, createSeen, isWorthKeeping, type Seen } from './seen.ts'
import type { Answer } from './source.ts'

/** Identical requests of one key share the calls to the sources, so that a double click is not paid for twice. */
export type SingleFlight = {
  readonly share: <T>(
    question: readonly string[],
    queries: readonly SourceQuery<T>[],
    search: Search<T>,
  ) => Promise<Answer<T>>
}

type Flight = {
  readonly answer: Promise<Answer<unknown>>
  readonly sourceAttempts: readonly SourceAttempt[]
  readonly seen: Readonly<Seen>
}

export function createSingleFlight(): SingleFlight {
  const flights = new Map<string, Flight>()
  return {
    share: async <T>(question: readonly string[], queries: readonly SourceQuery<T>[], search: Search<T>) => {
      // What a verification knows already decides whom it asks.
      const known = search.seen && isWorthKeeping(search.seen) ? [JSON.stringify(search.seen)] : []
      const name = [...question, ...known].join('|')
      for (let shared = flights.get(name); shared; shared = flights.get(name)) {
        await search.begin()
        if (await isOnlyRefused(shared)) continue
        return finish<T>(shared, search)
      }
      const flight = start(queries, search)
      flights.set(name, flight)
      const remove = () => flights.delete(name)
      flight.answer.then(remove, remove)
      return finish<T>(flight, search)
    },
  }
}

/** Whether the first request was refused, or could not pay for a call. This one may be asked, and may have paid calls left. */
const isOnlyRefused = ({ answer, sourceAttempts }: Flight): Promise<boolean> =>
  answer.then(
    () => false,
    (error) => error instanceof NotBegun || sourceAttempts.some(({ result }) => result === 'paid_calls'),
  )

async function finish<T>(flight: Flight, search: Search<T>): Promise<Answer<T>> {
  try {
    return (await flight.answer) as Answer<T>
  } finally {
    search.sourceAttempts.push(...flight.sourceAttempts)
    if (search.seen) addSeen(search.seen, flight.seen)
  }
}

function start<T>(queries: readonly SourceQuery<T>[], search: Search<T>): Flight {
  const sourceAttempts: SourceAttempt[] = []
  const seen = { ...(search.seen ?? createSeen()) }
  return { sourceAttempts, seen, answer: queryInOrder(queries, { ...search, sourceAttempts, seen }) }
}
