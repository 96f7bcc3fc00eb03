import { queryInOrder } from '../sources/failover.ts'
import type { Search, SourceAttempt, SourceQuery } from '../sources/search.ts'
import type { Answer } from '../sources/source.ts'

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
