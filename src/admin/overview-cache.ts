import type { Context } from '../context/context.ts'
import { isStoreFailure } from '../database/failure.ts'
import { createBoundedMap } from '../keys/bounded-map.ts'
import {
  type Overview,
  type OverviewQuery,
  type ReadOverview,
  readOverview,
  toOverviewFromMemory,
} from './overview-figures.ts'

/** What other nodes have written between the last reading and the outage is missing. */
const MAX_GAP_MS = 60_000

/** Reads the overview. While the store cannot be read, it goes on from memory, if it was read shortly before. */
export function createOverviewReader(context: Context): (query: OverviewQuery) => Promise<Overview> {
  const last = createBoundedMap<string, { readonly read: ReadOverview; readonly at: number }>(MAX_ENTRIES)
  let awaySince: number | undefined
  return async (query) => {
    const name = toName(query)
    try {
      const found = await readOverview(context, query)
      awaySince = undefined
      last.set(name, { read: found, at: performance.now() })
      return found.overview
    } catch (error) {
      if (!isStoreFailure(error)) throw error
      awaySince ??= performance.now()
      const before = last.get(name)
      // Hours with traffic would be shown as hours without.
      if (!before || awaySince - before.at > MAX_GAP_MS) throw error
      const found = await toOverviewFromMemory(context, query, before.read)
      last.set(name, { ...before, read: found })
      return found.overview
    }
  }
}

const toName = ({ range, mode, from, to }: OverviewQuery) => [range, mode, from, to].join(' ')

/** Requests for the same figures share one query of the database. */
export type OverviewCache<T> = { readonly read: (query: OverviewQuery) => Promise<T> }

const FRESH_MS = 1000
/** Figures are kept this many times as long as they took to compute, so that computing takes at most 5 % of the time. */
const KEPT_TIMES = 20
/** But never longer: on a busy machine, who watches an outage would see the figures of before it. */
const MAX_KEPT_MS = 10_000
/** A range of one's own makes an entry of its own. */
const MAX_ENTRIES = 50

export function createOverviewCache<T>(compute: (query: OverviewQuery) => Promise<T>): OverviewCache<T> {
  const entries = new Map<string, { until: number; readonly value: Promise<T> }>()
  return {
    read: (query) => {
      const name = toName(query)
      const last = entries.get(name)
      const now = performance.now()
      if (last && now < last.until) return last.value
      const entry = { until: Number.POSITIVE_INFINITY, value: compute(query) }
      entries.delete(name)
      entries.set(name, entry)
      const [oldest] = entries.keys()
      if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest)
      entry.value.then(
        () => {
          const tookMs = performance.now() - now
          entry.until = now + tookMs + Math.min(Math.max(FRESH_MS, KEPT_TIMES * tookMs), MAX_KEPT_MS)
        },
        () => entries.delete(name),
      )
      return entry.value
    },
  }
}
