/** Tells the worker and the waiting callers of this process that something has changed. Other processes find it by polling. */
export type QueueSignals = {
  /** A verification was added. */
  readonly wake: () => void
  readonly onWake: (listener: () => void) => void
  /** A verification has ended. */
  readonly end: (reference: string, outcome: string) => void
  /** How many have ended in this process, by outcome. */
  readonly ended: Readonly<Record<string, number>>
  /** Resolves when the verification ends in this process or after the time, to whether the server stops. */
  readonly waitForEnd: (reference: string, ms: number) => Promise<boolean>
  /** The server stops: no caller waits any longer. */
  readonly close: () => void
}

export function createQueueSignals(): QueueSignals {
  const waiting = new Map<string, Set<() => void>>()
  let wakeUp = () => {}
  let isClosed = false
  // From zero: the first one of a kind is then an increase for the alerts and the dashboard.
  const ended: Record<string, number> = { verified: 0, not_verified: 0, expired: 0, cancelled: 0 }
  return {
    ended,
    wake: () => wakeUp(),
    onWake: (listener) => {
      wakeUp = listener
    },
    end: (reference, outcome) => {
      ended[outcome] = (ended[outcome] ?? 0) + 1
      for (const resume of waiting.get(reference) ?? []) resume()
    },
    waitForEnd: (reference, ms) =>
      new Promise((resolve) => {
        if (isClosed) return resolve(true)
        const all = waiting.get(reference) ?? new Set()
        const resume = () => {
          clearTimeout(timer)
          all.delete(resume)
          if (all.size === 0) waiting.delete(reference)
          resolve(isClosed)
        }
        const timer = setTimeout(resume, ms)
        waiting.set(reference, all.add(resume))
      }),
    close: () => {
      isClosed = true
      for (const all of [...waiting.values()]) for (const resume of [...all]) resume()
    },
  }
}
