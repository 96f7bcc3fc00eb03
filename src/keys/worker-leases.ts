import cluster from 'node:cluster'
import { createBoundedMap } from './bounded-map.ts'
import { createWindows, type Lease, type RateLimit } from './rate-limit.ts'

/** What workers and the process that started them say to one another about the rate limit. */
type Message =
  | { readonly lease: 'ask'; readonly id: number; readonly key: string }
  | { readonly lease: 'given'; readonly id: number; readonly given: Lease }

/** All leases that lie unused with workers are together at most this part of the limit. */
const UNUSED_PART = 20

/** In the process that started the workers: counts the requests of all of them, in leases of some at a time. */
export function relayLeases(limit: number, workers: number): void {
  const windows = createWindows(limit)
  const batch = Math.max(1, Math.floor(limit / (UNUSED_PART * workers)))
  cluster.on('message', (worker, message: Message) => {
    if (message?.lease !== 'ask' || !worker.isConnected()) return
    worker.send({ lease: 'given', id: message.id, given: windows.take(message.key, batch) })
  })
}

type Held = { tokens: number; readonly left: number; readonly endsAt: number }

const MOST_KEYS = 200_000

/**
 * In a worker: the same limit for all workers together. Most requests are counted here; one that finds no lease waits for
 * the next. A key is never allowed more than the limit, and when it uses several workers, up to a twentieth less.
 */
export function createLeasedRateLimit(limit: number, now = () => performance.now()): RateLimit {
  const ask = createAsk()
  const held = createBoundedMap<string, Held>(MOST_KEYS)
  const asking = new Map<string, Promise<void>>()
  const lease = async (key: string) => {
    const { tokens, left, endsInMs } = await ask(key)
    held.set(key, { tokens, left, endsAt: now() + endsInMs })
  }
  const askOnce = (key: string): Promise<void> => {
    const known = asking.get(key)
    if (known) return known
    const work = lease(key).finally(() => asking.delete(key))
    asking.set(key, work)
    return work
  }
  const takeHeld = (key: string) => {
    const known = held.get(key)
    const at = now()
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
      await askOnce(key)
    }
  }
  return { limit, take: (key) => takeHeld(key) ?? takeLeased(key) }
}

function createAsk(): (key: string) => Promise<Lease> {
  const waiting = new Map<number, (given: Lease) => void>()
  let asked = 0
  process.on('message', (message: Message) => {
    if (message?.lease !== 'given') return
    waiting.get(message.id)?.(message.given)
    waiting.delete(message.id)
  })
  return (key) =>
    new Promise((resolve) => {
      const id = ++asked
      waiting.set(id, resolve)
      process.send?.({ lease: 'ask', id, key })
    })
}
