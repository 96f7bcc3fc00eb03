import { afterRunning } from '../../telemetry/running-clock.ts'

/** The connections of this process to one vendor, shared by its operations. */
export type Connections = {
  /** Takes one. False when none became free within a second. */
  readonly enter: () => Promise<boolean>
  readonly leave: () => void
  readonly read: () => { readonly inUse: number; readonly waiting: number }
}

const MAX_WAIT_MS = 1000

/** Those who wait are served in the order in which they came. */
export function createConnections(limit: number, maxWaitMs = MAX_WAIT_MS): Connections {
  const waiting = new Set<(isFree: boolean) => void>()
  let inUse = 0
  return {
    enter: () => {
      if (inUse < limit) {
        inUse += 1
        return Promise.resolve(true)
      }
      const { promise, resolve } = Promise.withResolvers<boolean>()
      waiting.add(resolve)
      const cancel = afterRunning(maxWaitMs, () => {
        waiting.delete(resolve)
        resolve(false)
      })
      return promise.finally(cancel)
    },
    leave: () => {
      const [next] = waiting
      if (!next) {
        inUse -= 1
        return
      }
      // The connection passes to the one that has waited longest.
      waiting.delete(next)
      next(true)
    },
    read: () => ({ inUse, waiting: waiting.size }),
  }
}
