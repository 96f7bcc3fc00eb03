import type { Context } from '../context/context.ts'
import { type OverviewQuery, toOverview } from './overview.ts'
import type { Overview } from './shapes/overview.ts'

/** Requests for the same overview share one query of the database. */
export type OverviewCache = { readonly read: (query: OverviewQuery) => Promise<Overview> }

const FRESH_MS = 1000
/** An overview is kept this many times as long as it took to compute, so that computing takes at most 5 % of the time. */
const KEPT_TIMES = 20

export function createOverviewCache(context: Context): OverviewCache {
  const entries = new Map<string, { until: number; readonly overview: Promise<Overview> }>()
  return {
    read: (query) => {
      const name = `${query.range} ${query.mode}`
      const last = entries.get(name)
      const now = performance.now()
      if (last && now < last.until) return last.overview
      const entry = { until: Number.POSITIVE_INFINITY, overview: toOverview(context, query) }
      entries.set(name, entry)
      entry.overview.then(
        () => {
          entry.until = now + Math.max(FRESH_MS, KEPT_TIMES * (performance.now() - now))
        },
        () => entries.delete(name),
      )
      return entry.overview
    },
  }
}
