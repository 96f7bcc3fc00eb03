import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '../context/context.ts'
import { type OverviewQuery, toOverview } from './overview.ts'
import type { Overview } from './shapes/overview.ts'

const LOOK_EVERY_MS = 2000
/** Proxies close what is silent. */
const SPEAK_EVERY_MS = 15_000

/** The overview as server-sent events: at once, and whenever it has changed, until the session ends or the server stops. */
export async function* streamOverview(
  { context, overviewCache }: { readonly context: Context; readonly overviewCache: OverviewCache },
  wish: OverviewQuery,
  isStillThere: () => Promise<boolean>,
): AsyncIterable<string> {
  const { lifecycle } = context
  let told = ''
  let spokenAt = Number.NEGATIVE_INFINITY
  while (!lifecycle.stopping) {
    if (!(await isStillThere())) {
      yield toEvent('signed_out', '{}')
      return
    }
    const overview = await overviewCache.read(wish)
    const facts = JSON.stringify({ ...overview, generated_at: '' })
    if (facts !== told) {
      told = facts
      spokenAt = performance.now()
      yield toEvent('overview', JSON.stringify(overview))
    } else if (performance.now() - spokenAt > SPEAK_EVERY_MS) {
      spokenAt = performance.now()
      yield ': still here\n\n'
    }
    await pause(LOOK_EVERY_MS, undefined, { ref: false })
  }
}

const toEvent = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`

/** Whoever looks at the same at the same time shares one look at the database. */
export type OverviewCache = { readonly read: (wish: OverviewQuery) => Promise<Overview> }

const FRESH_MS = 1000
/** What took long to make is good for longer: looking never costs more than a small part of the time. */
const KEPT_TIMES = 20

export function createOverviewCache(context: Context): OverviewCache {
  const known = new Map<string, { until: number; readonly overview: Promise<Overview> }>()
  return {
    read: (wish) => {
      const name = `${wish.range} ${wish.mode}`
      const last = known.get(name)
      const now = performance.now()
      if (last && now < last.until) return last.overview
      const made = { until: Number.POSITIVE_INFINITY, overview: toOverview(context, wish) }
      known.set(name, made)
      made.overview.then(
        () => {
          made.until = now + Math.max(FRESH_MS, KEPT_TIMES * (performance.now() - now))
        },
        () => known.delete(name),
      )
      return made.overview
    },
  }
}
