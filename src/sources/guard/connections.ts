import { afterRunning } from '../../telemetry/running-clock.ts'

/** The connections of this process to one vendor, shared by its operations. */
export type Connections = {
  /** Takes one. False when none became free within a second, or before the signal. The lineage is that of the caller's key. */
  readonly enter: (lineage: string, signal?: AbortSignal) => Promise<boolean>
  readonly leave: () => void
  readonly read: () => { readonly inUse: number; readonly waiting: number }
}

const MAX_WAIT_MS = 1000

/** Lineages that wait are served in turn, and the callers of each in the order in which they came. */
export function createConnections(limit: number, maxWaitMs = MAX_WAIT_MS): Connections {
  const waiting = createWaiters()
  let inUse = 0
  return {
    enter: (lineage, signal) => {
      if (inUse < limit) {
        inUse += 1
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
    leave: () => {
      const next = waiting.takeNext()
      // The connection passes to the next one.
      if (next) next(true)
      else inUse -= 1
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
    takeNext: (): Waiter | undefined => {
      for (const [lineage, queue] of queues)
        for (const next of queue) {
          queue.delete(next)
          queues.delete(lineage)
          if (queue.size > 0) queues.set(lineage, queue)
          size -= 1
          return next
        }
      return undefined
    },
  }
}
