import type { PublishedState, Spent } from '../store/source-table.ts'
import type { Prices } from './agreement.ts'
import type { PostFigures } from './post.ts'

/** How one operation of a source is doing on one node; without figures when no node is running. */
export type SourceReport = {
  readonly source: string
  readonly operation: string
  readonly node: string | null
  readonly figures: PostFigures | null
  readonly disabled: boolean
  readonly callsToday: number
  readonly spentKoboToday: number
  readonly capKobo: number | null
}

export type Facts = {
  /** What is asked, in the order of asking. */
  readonly order: readonly { readonly source: string; readonly operation: string }[]
  readonly states: readonly PublishedState[]
  readonly disabled: readonly string[]
  readonly spent: readonly Spent[]
  readonly prices: Prices
}

/** One line for each source, operation and node. */
export function toReports({ order, states, disabled, spent, prices }: Facts): SourceReport[] {
  return order.flatMap(({ source, operation }): SourceReport[] => {
    const today = spent.find(({ name }) => name === source)
    const common = {
      source,
      operation,
      disabled: disabled.includes(source),
      callsToday: today?.calls ?? 0,
      spentKoboToday: today?.kobo ?? 0,
      capKobo: prices[source]?.dailyCap ?? null,
    }
    const seen = states.filter((state) => state.name === source && state.operation === operation)
    if (seen.length === 0) return [{ ...common, node: null, figures: null }]
    return seen.map(({ node, state }) => ({ ...common, node, figures: JSON.parse(state) as PostFigures }))
  })
}
