import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '../context/context.ts'
import { steadyNow } from '../contract/time.ts'
import { readKeyNames } from '../keys/key-names.ts'
import { toRequestView } from '../requests/request-view.ts'
import type { RequestFilter } from '../requests/search.ts'
import { createTail } from '../requests/tail.ts'

const POLL_MS = 2000
/** Requests that were answered before, and may not have been written when the page was loaded. */
const BEFORE_MS = 5000
/** Proxies close silent connections. */
const KEEP_ALIVE_MS = 15_000

/** New requests as server-sent events, until the session ends or the server stops. */
export async function* streamRequests(
  { lifecycle, store }: Context,
  filter: RequestFilter,
  isSignedIn: () => Promise<boolean>,
): AsyncIterable<string> {
  const tail = createTail(store.requests, filter, steadyNow() - BEFORE_MS)
  let sentAt = performance.now()
  yield ': begins\n\n'
  while (!lifecycle.stopping) {
    if (!(await isSignedIn())) {
      yield 'event: signed_out\ndata: {}\n\n'
      return
    }
    const { rows, isCut } = await tail()
    if (rows.length > 0) {
      const names = await readKeyNames(store.keys)
      const views = rows.map((row) => toRequestView(row, names))
      sentAt = performance.now()
      yield `event: requests\ndata: ${JSON.stringify({ rows: views, is_cut: isCut })}\n\n`
    } else if (performance.now() - sentAt > KEEP_ALIVE_MS) {
      sentAt = performance.now()
      yield ': keep-alive\n\n'
    }
    await pause(POLL_MS, undefined, { ref: false })
  }
}
