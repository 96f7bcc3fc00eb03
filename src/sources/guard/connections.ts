import { afterRunning } from '../../telemetry/running-clock.ts'

/** The connections of this process to one vendor, shared by its operations. */
export type Connections = {
  /** Takes one. False when none became free within a second, or before the signal. The lineage is that of the caller's key. */
  readonly enter: (lineage: string, signal?: AbortSignal) => Promise<boolean>
  /** Gives one back, of this lineage. */
  readonly leave: (lineage: string) => void
  readonly read: () => { readonly inUse: number; readonly waiting: number }
}

const MAX_WAIT_MS = 1000
/** The last connections, one of so many, are for lineages that hold few: one that floods a slow vendor does not hold them all. */
const RESERVED_SHARE = 8

/** Lineages that wait are served in turn, and the callers of each in the order in which they came. */
export function createConnections(limit: number, maxWaitMs = MAX_WAIT_MS): Connections {
  const waiting = createWaiters()
  const reserved = Number.isFinite(limit) ? Math.floor(limit / RESERVED_SHARE) : 0
  const held = new Map<string, number>()
  const countHeld = (lineage: string) => held.get(lineage) ?? 0
  let inUse = 0
  const mayTake = (lineage: string) =>
    inUse < limit - reserved || (inUse < limit && countHeld(lineage) < reserved)
  const take = (lineage: string) => {
    inUse += 1
    held.set(lineage, countHeld(lineage) + 1)
  }
  const giveBack = (lineage: string) => {
    inUse -= 1
    const left = countHeld(lineage) - 1
    if (left > 0) held.set(lineage, left)
    else held.delete(lineage)
  }
  return {
    enter: (lineage, signal) => {
      if (mayTake(lineage)) {
        take(lineage)
        return Promise.resolve(true)
      }
      if (signal?.aborted) return Promise.resolve(false)
      const { promise, resolve } = Promise.withResolvers<boolean>()
      waiting.add(lineage, resolve)
      const giveUp = () => {
        waiting.delete(lineage, resolve)
        resolve(false)
      }
      const cancel = afterRunning(maxWaitMs, giveUp)
      signal?.addEventListener('abort', giveUp, { once: true })
      return promise.finally(() => {
        cancel()
        signal?.removeEventListener('abort', giveUp)
      })
    },
    leave: (lineage) => {
      giveBack(lineage)
      // Two at most: the next in turn, and then one of this lineage, which may hold few now.
      for (let next = waiting.takeNext(mayTake); next; next = waiting.takeNext(mayTake)) {
        take(next.lineage)
        next.waiter(true)
      }
    },
    read: () => ({ inUse, waiting: waiting.size() }),
  }
}

type Waiter = (isFree: boolean) => void

/** A queue for each lineage that waits. The lineage whose turn it is stands first; a served one goes to the end. */
function createWaiters() {
  const queues = new Map<string, Set<Waiter>>()
  let size = 0
  return {
    size: () => size,
    add: (lineage: string, waiter: Waiter): void => {
      const queue = queues.get(lineage)
      if (queue) queue.add(waiter)
      else queues.set(lineage, new Set([waiter]))
      size += 1
    },
    delete: (lineage: string, waiter: Waiter): void => {
      const queue = queues.get(lineage)
      if (!queue?.delete(waiter)) return
      size -= 1
      if (queue.size === 0) queues.delete(lineage)
    },
    takeNext: (mayTake: (lineage: string) => boolean) => {
      for (const [lineage, queue] of queues)
        for (const waiter of mayTake(lineage) ? queue : []) {
          queue.delete(waiter)
          queues.delete(lineage)
          if (queue.size > 0) queues.set(lineage, queue)
          size -= 1
          return { lineage, waiter }
        }
      return undefined
    },
  }
}
