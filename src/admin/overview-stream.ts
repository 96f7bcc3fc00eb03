import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '../context/context.ts'
import type { OverviewCache } from './overview-cache.ts'
import type { OverviewQuery } from './overview-period.ts'
import type { Overview } from './shapes/overview.ts'

const POLL_MS = 2000
/** Proxies close silent connections. */
const KEEP_ALIVE_MS = 15_000

/** The overview as server-sent events: at the start and after every change, until the session ends or the server stops. */
export async function* streamOverview(
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
