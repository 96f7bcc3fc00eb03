import { askInOrder, type Search, type SourceAsk, type Tried } from '../sources/failover.ts'
import type { Answer } from '../sources/source.ts'

/** Questions under way. The same question by the same key shares one, so a double click is not paid for twice. */
export type Flights = {
  readonly share: <T>(
    question: readonly string[],
    asks: readonly SourceAsk<T>[],
    search: Search<T>,
  ) => Promise<Answer<T>>
}

type Flight = { readonly answer: Promise<Answer<unknown>>; readonly trail: readonly Tried[] }

export function createFlights(): Flights {
  const flights = new Map<string, Flight>()
  return {
    share: async <T>(question: readonly string[], asks: readonly SourceAsk<T>[], search: Search<T>) => {
      const name = question.join('|')
      const known = flights.get(name)
      const flight = known ?? start(asks, search)
      if (!known) {
        flights.set(name, flight)
        const land = () => flights.delete(name)
        flight.answer.then(land, land)
      }
      try {
        return (await flight.answer) as Answer<T>
      } finally {
        search.trail.push(...flight.trail)
      }
    },
  }
}

function start<T>(asks: readonly SourceAsk<T>[], search: Search<T>): Flight {
  const trail: Tried[] = []
  return { trail, answer: askInOrder(asks, { ...search, trail }) }
}
