import type { OverviewQuery } from './overview-period.ts'

/** Requests for the same figures share one query of the database. */
export type OverviewCache<T> = { readonly read: (query: OverviewQuery) => Promise<T> }

const FRESH_MS = 1000
/** Figures are kept this many times as long as they took to compute, so that computing takes at most 5 % of the time. */
const KEPT_TIMES = 20
/** A range of one's own makes an entry of its own. */
const MOST_ENTRIES = 50

export function createOverviewCache<T>(compute: (query: OverviewQuery) => Promise<T>): OverviewCache<T> {
  const entries = new Map<string, { until: number; readonly value: Promise<T> }>()
  return {
    read: (query) => {
      const name = [query.range, query.mode, query.from, query.to].join(' ')
      const last = entries.get(name)
      const now = performance.now()
      if (last && now < last.until) return last.value
      const entry = { until: Number.POSITIVE_INFINITY, value: compute(query) }
      entries.delete(name)
      entries.set(name, entry)
      const [oldest] = entries.keys()
      if (entries.size > MOST_ENTRIES && oldest !== undefined) entries.delete(oldest)
      entry.value.then(
        () => {
          entry.until = now + Math.max(FRESH_MS, KEPT_TIMES * (performance.now() - now))
        },
        () => entries.delete(name),
      )
      return entry.value
    },
  }
}
