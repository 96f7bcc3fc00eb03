import { Type } from '../../contract/schema.ts'
import { readPeriod } from '../overview-period.ts'
import { streamOverview } from '../overview-stream.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { Charts, Overview, OverviewQuery } from '../shapes/overview.ts'

const DEFAULTS = { range: 'day', mode: 'all' } as const

export const OVERVIEW_ROUTES: readonly AdminRoute[] = [
  defineRoute({
    name: 'read_overview',
    tag: 'Overview',
    method: 'GET',
    path: '/admin/overview',
    summary: 'Verifications, latency, sources, keys and the last errors.',
    role: 'viewer',
    input: OverviewQuery,
    output: Overview,
    isBackground: true,
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
    input: OverviewQuery,
    output: Charts,
    isBackground: true,
    run: (deps, { input }) => deps.chartsCache.read({ ...DEFAULTS, ...input }),
  }),
  defineRoute({
    name: 'stream_overview',
    tag: 'Overview',
    method: 'GET',
    path: '/admin/overview/events',
    summary: 'The overview as server-sent events, after every change.',
    role: 'viewer',
    input: OverviewQuery,
    output: Type.String(),
    stream: 'text/event-stream',
    isBackground: true,
    run: async (deps, { input, isStillAllowed }) => {
      // A bad range is refused before the stream begins.
      const query = { ...DEFAULTS, ...input }
      readPeriod(query, Date.now())
      return streamOverview(deps, query, isStillAllowed)
    },
  }),
]
