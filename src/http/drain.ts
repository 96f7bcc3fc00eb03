import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'

/** How long the doors stay open after the signal, for whoever was on the way in. */
const LINGER_MS = 250
const TICK_MS = 100

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

/**
 * Stops a server without losing a request that reached it. `server.close()` alone would cut connections whose request has
 * arrived and was not read yet, so: accept a moment longer, stop listening, give what was accepted time to be read, and
 * only then close what is idle, until nothing is left.
 */
export async function drain(server: Server): Promise<void> {
  if (!server.listening) return
  await sleep(LINGER_MS)
  const empty = new Promise<void>((done) => NetServer.prototype.close.call(server, () => done()))
  await Promise.race([empty, sleep(LINGER_MS)])
  const closing = setInterval(() => server.closeIdleConnections(), TICK_MS)
  await empty
  clearInterval(closing)
}
