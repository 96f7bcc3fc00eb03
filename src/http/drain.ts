import { Server as NetServer } from 'node:net'
import type { App } from './app.ts'

/** New connections are accepted for so long after the signal: a load balancer may still send some. */
const ACCEPT_MS = 250
const TICK_MS = 100
/** How long callers that do not read their responses may delay the end. */
const UNREAD_MS = 5000

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

/**
 * Stops a server without losing a request that reached it. `server.close()` alone would close connections whose request has
 * arrived and is not read yet. So: accept a moment longer, stop listening, wait until accepted connections are read, and
 * only then close idle connections, until none is left.
 */
export async function drain({
  server,
  listener,
  connections,
}: Pick<App, 'server' | 'listener' | 'connections'>): Promise<void> {
  if (!listener.listening) return
  await sleep(ACCEPT_MS)
  const empty = new Promise<void>((done) => NetServer.prototype.close.call(listener, () => done()))
  await Promise.race([empty, sleep(ACCEPT_MS)])
  const until = performance.now() + UNREAD_MS
  const closeIdle = () =>
    performance.now() < until ? connections.closeIdle() : server.closeIdleConnections()
  const closing = setInterval(closeIdle, TICK_MS)
  await empty
  clearInterval(closing)
}
