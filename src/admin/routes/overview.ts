import { Type } from '../../contract/schema.ts'
import { streamOverview } from '../events.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { readSessionCookie } from '../session-cookie.ts'
import { Overview, OverviewQuery } from '../shapes/overview.ts'

const DEFAULTS = { range: 'day', mode: 'all' } as const

export const OVERVIEW_ROUTES: readonly AdminRoute[] = [
  defineRoute({
    name: 'read_overview',
    room: 'Overview',
    method: 'GET',
    path: '/admin/overview',
    summary: 'How things are going: verifications, latency, sources, keys, the last errors',
    role: 'viewer',
    input: OverviewQuery,
    output: Overview,
    isBackground: true,
    run: (desk, { input }) => desk.overviews.read({ ...DEFAULTS, ...input }),
  }),
  defineRoute({
    name: 'watch_overview',
    room: 'Overview',
    method: 'GET',
    path: '/admin/events',
    summary: 'The same as server-sent events, whenever it has changed',
    role: 'viewer',
    input: OverviewQuery,
    output: Type.String(),
    stream: 'text/event-stream',
    isBackground: true,
    run: async (desk, { input, exchange }) => {
      const token = readSessionCookie(exchange.headers.cookie, desk.addresses.isSecure(exchange)) ?? ''
      const isStillThere = async () =>
        (await desk.people.findPerson(token, { isBackground: true })) !== undefined
      return streamOverview(desk, { ...DEFAULTS, ...input }, isStillThere)
    },
  }),
]
