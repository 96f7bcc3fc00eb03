import cluster from 'node:cluster'
import { createBoundedMap } from './bounded-map.ts'
import { createWindows, type Lease, type RateLimit } from './rate-limit.ts'

/** Messages between the workers and the primary process about the rate limit. */
type Message =
  | { readonly lease: 'request'; readonly id: number; readonly key: string }
  | { readonly lease: 'granted'; readonly id: number; readonly granted: Lease }

/** Unused leases of all workers together are at most one part in this many of the limit. */
const UNUSED_PART = 20

/** In the primary process: counts the requests of all workers, in leases of several requests. */
export function relayLeases(limit: number, workers: number): void {
  const windows = createWindows(limit)
  const batch = Math.max(1, Math.floor(limit / (UNUSED_PART * workers)))
  cluster.on('message', (worker, message: Message) => {
    if (message?.lease !== 'request' || !worker.isConnected()) return
    worker.send({ lease: 'granted', id: message.id, granted: windows.take(message.key, batch) })
  })
}

type Held = { tokens: number; readonly left: number; readonly endsAt: number }

const MAX_KEYS = 200_000

/**
 * In a worker: one limit for all workers together. Most requests are counted here; a request without a lease waits for the
 * next one. A key never gets more than the limit. A key that uses several workers may get up to a twentieth less.
 */
export function createLeasedRateLimit(
  limit: number,
  requestLease = createLeaseRequest(),
  now = () => performance.now(),
): RateLimit {
  // Whole milliseconds, for the same reason as in createWindows.
  const readClock = () => Math.floor(now())
  const held = createBoundedMap<string, Held>(MAX_KEYS)
  const pending = new Map<string, Promise<void>>()
  const lease = async (key: string) => {
    const { tokens, left, endsInMs } = await requestLease(key)
    held.set(key, { tokens, left, endsAt: readClock() + endsInMs })
  }
  const leaseOnce = (key: string): Promise<void> => {
    const known = pending.get(key)
    if (known) return known
    const work = lease(key).finally(() => pending.delete(key))
    pending.set(key, work)
    return work
  }
  const takeHeld = (key: string) => {
    const known = held.get(key)
    const at = readClock()
    if (!known || known.endsAt <= at) return undefined
    if (known.tokens === 0 && known.left > 0) return undefined
    const allowed = known.tokens > 0
    if (allowed) known.tokens -= 1
    const resetS = Math.max(1, Math.ceil((known.endsAt - at) / 1000))
    return { allowed, remaining: known.left + known.tokens, resetS }
  }
  const takeLeased = async (key: string) => {
    for (;;) {
      const taken = takeHeld(key)
      if (taken) return taken
      await leaseOnce(key)
    }
  }
  return { limit, take: (key) => takeHeld(key) ?? takeLeased(key) }
}

function createLeaseRequest(): (key: string) => Promise<Lease> {
  const waiting = new Map<number, (granted: Lease) => void>()
  let requested = 0
  process.on('message', (message: Message) => {
    if (message?.lease !== 'granted') return
    waiting.get(message.id)?.(message.granted)
    waiting.delete(message.id)
  })
  return (key) =>
    new Promise((resolve) => {
      const id = ++requested
      waiting.set(id, resolve)
      process.send?.({ lease: 'request', id, key })
    })
}
