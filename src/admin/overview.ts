import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '../context/context.ts'
import { Type } from '../contract/schema.ts'
import { Charts } from './charts.ts'
import type { OverviewCache } from './overview-cache.ts'
import { Overview, OverviewInput, type OverviewQuery, readPeriod } from './overview-figures.ts'
import { type AdminRoute, defineRoute } from './route.ts'

const DEFAULTS = { range: 'day', mode: 'all' } as const

export const OVERVIEW_ROUTES: readonly AdminRoute[] = [
  defineRoute({
    name: 'read_overview',
    tag: 'Overview',
    method: 'GET',
    path: '/admin/overview',
    summary: 'Verifications, latency, sources, keys and the last errors.',
    role: 'viewer',
    input: OverviewInput,
    output: Overview,
    worksWithoutStore: true,
    run: (deps, { input }) => deps.overviewCache.read({ ...DEFAULTS, ...input }),
  }),
  defineRoute({
    name: 'read_charts',
    tag: 'Overview',
    method: 'GET',
    path: '/admin/charts',
    summary:
      'Calls, errors, latency and cost of each vendor, and verifications of the busiest keys, over time.',
    role: 'viewer',
    input: OverviewInput,
    output: Charts,
    worksWithoutStore: true,
    run: (deps, { input }) => deps.chartsCache.read({ ...DEFAULTS, ...input }),
  }),
  defineRoute({
    name: 'stream_overview',
    tag: 'Overview',
    method: 'GET',
    path: '/admin/overview/events',
    summary: 'The overview as server-sent events, after every change.',
    role: 'viewer',
    input: OverviewInput,
    output: Type.String(),
    stream: 'text/event-stream',
    worksWithoutStore: true,
    run: async (deps, { input, isStillAllowed }) => {
      // A bad range is refused before the stream begins.
      const query = { ...DEFAULTS, ...input }
      readPeriod(query, Date.now())
      return streamOverview(deps, query, isStillAllowed)
    },
  }),
]

const POLL_MS = 2000
/** Proxies close silent connections. */
const KEEP_ALIVE_MS = 15_000

/** The overview as server-sent events: at the start and after every change, until the session ends or the server stops. */
async function* streamOverview(
  { context, overviewCache }: { readonly context: Context; readonly overviewCache: OverviewCache<Overview> },
  query: OverviewQuery,
  isSignedIn: () => Promise<boolean>,
): AsyncIterable<string> {
  const { lifecycle } = context
  let lastSent = ''
  let sentAt = Number.NEGATIVE_INFINITY
  while (!lifecycle.stopping) {
    if (!(await isSignedIn())) {
      yield toEvent('signed_out', '{}')
      return
    }
    const overview = await overviewCache.read(query)
    const content = JSON.stringify({ ...overview, generated_at: '' })
    if (content !== lastSent) {
      lastSent = content
      sentAt = performance.now()
      yield toEvent('overview', JSON.stringify(overview))
    } else if (performance.now() - sentAt > KEEP_ALIVE_MS) {
      sentAt = performance.now()
      yield ': keep-alive\n\n'
    }
    await pause(POLL_MS, undefined, { ref: false })
  }
}

const toEvent = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`
