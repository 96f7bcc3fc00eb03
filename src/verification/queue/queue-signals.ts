import { setTimeout as pause } from 'node:timers/promises'
import type { QueueTable } from '../../ledger/queue-table.ts'

/** Tells the worker and the waiting callers of this process that something has changed. */
export type QueueSignals = {
  /** A verification was added. */
  readonly wake: () => void
  readonly onWake: (listener: () => void) => void
  /** A verification has ended. */
  readonly end: (reference: string, outcome: string) => void
  /** How many have ended in this process, by outcome. */
  readonly ended: Readonly<Record<string, number>>
  /** Resolves when the verification ends or after the time, to whether the server stops. */
  readonly waitForEnd: (reference: string, ms: number) => Promise<boolean>
  /** The server stops: no caller waits any longer. */
  readonly close: () => void
}

/** How often the verifications of all waiting callers are looked up: another process may have answered them. */
const LOOK_MS = 500
/** In one statement. */
const MOST_AT_ONCE = 1000

export function createQueueSignals(listEnded: QueueTable['listEnded']): QueueSignals {
  const waiting = new Map<string, Set<() => void>>()
  let isLooking = false
  const resumeAll = (reference: string) => {
    for (const resume of waiting.get(reference) ?? []) resume()
  }
  const look = async () => {
    const awaited = [...waiting.keys()]
    for (let at = 0; at < awaited.length; at += MOST_AT_ONCE)
      (await listEnded(awaited.slice(at, at + MOST_AT_ONCE))).forEach(resumeAll)
  }
  /** Once for all callers: thousands of them would otherwise each read the database twice a second. */
  const keepLooking = async () => {
    isLooking = true
    while (waiting.size > 0) {
      await pause(LOOK_MS, undefined, { ref: false })
      // While the database is lost, callers wait to the end of their time, and learn it then.
      await look().catch(() => {})
    }
    isLooking = false
  }
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
      resumeAll(reference)
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
        if (!isLooking) void keepLooking()
      }),
    close: () => {
      isClosed = true
      for (const all of [...waiting.values()]) for (const resume of [...all]) resume()
    },
  }
}
