import type { GuardFigures } from './guard/call-guard.ts'
import type { Prices } from './guard/shared-state.ts'
import type { PublishedState, Spent } from './source-table.ts'

/** State of one operation of a source on one node; without figures when no node is running. */
export type SourceReport = {
  readonly source: string
  readonly operation: string
  readonly node: string | null
  readonly figures: GuardFigures | null
  readonly disabled: boolean
  readonly callsToday: number
  readonly spentKoboToday: number
  readonly capKobo: number | null
  readonly priceKobo: number
  /** Only for vendors of lists: the last sync and its outcome. */
  readonly lastSync?: { readonly at: string; readonly outcome: string } | null
}

export type Facts = {
  /** Sources in the order in which they are queried. */
  readonly order: readonly { readonly source: string; readonly operation: string }[]
  readonly states: readonly PublishedState[]
  readonly disabled: readonly string[]
  readonly spent: readonly Spent[]
  readonly prices: Prices
  /** The vendors whose lists are fetched. */
  readonly lists: readonly string[]
  readonly syncs: readonly {
    readonly source: string
    readonly startedAt: number
    readonly outcome: string | undefined
  }[]
}

/** One report for each source, operation and node, and one for each vendor of lists. */
export function toReports(facts: Facts): SourceReport[] {
  const { order, states, lists, syncs } = facts
  const identity = order.flatMap(({ source, operation }): SourceReport[] => {
    const common = toCommon(facts, source, operation)
    const seen = states.filter((state) => state.name === source && state.operation === operation)
    if (seen.length === 0) return [{ ...common, node: null, figures: null }]
    return seen.map(({ node, state }) => ({ ...common, node, figures: JSON.parse(state) as GuardFigures }))
  })
  const catalogue = lists.map((source): SourceReport => {
    const sync = syncs.find((row) => row.source === source)
    const lastSync = sync
      ? { at: new Date(sync.startedAt).toISOString(), outcome: sync.outcome ?? 'under way' }
      : null
    return { ...toCommon(facts, source, 'catalogue_sync'), node: null, figures: null, lastSync }
  })
  return [...identity, ...catalogue]
}

function toCommon({ disabled, spent, prices }: Facts, source: string, operation: string) {
  const today = spent.find(({ name }) => name === source)
  return {
    source,
    operation,
    disabled: disabled.includes(source),
    callsToday: today?.calls ?? 0,
    spentKoboToday: today?.kobo ?? 0,
    capKobo: prices[source]?.dailyCap ?? null,
    priceKobo: prices[source]?.price ?? 0,
  }
}
