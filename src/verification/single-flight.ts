import { queryInOrder } from '../sources/failover.ts'
import type { Search, SourceAttempt, SourceQuery } from '../sources/search.ts'
import type { Answer } from '../sources/source.ts'

/** Questions under way. The same question by the same key shares one, so a double click is not paid for twice. */
export type SingleFlight = {
  readonly share: <T>(
    question: readonly string[],
    asks: readonly SourceQuery<T>[],
    search: Search<T>,
  ) => Promise<Answer<T>>
}

type Flight = { readonly answer: Promise<Answer<unknown>>; readonly sourceAttempts: readonly SourceAttempt[] }

export function createSingleFlight(): SingleFlight {
  const singleFlight = new Map<string, Flight>()
  return {
    share: async <T>(question: readonly string[], asks: readonly SourceQuery<T>[], search: Search<T>) => {
      const name = question.join('|')
      for (let known = singleFlight.get(name); known; known = singleFlight.get(name)) {
        const answer = await known.answer.catch(() => undefined)
        // The first request could not pay for a call. This one may have paid calls left.
        if (!answer && known.sourceAttempts.some(({ result }) => result === 'paid_calls')) continue
        return finish<T>(known, search)
      }
      const flight = start(asks, search)
      singleFlight.set(name, flight)
      const land = () => singleFlight.delete(name)
      flight.answer.then(land, land)
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

function start<T>(asks: readonly SourceQuery<T>[], search: Search<T>): Flight {
  const sourceAttempts: SourceAttempt[] = []
  return { sourceAttempts, answer: queryInOrder(asks, { ...search, sourceAttempts }) }
}
