import { setTimeout as pause } from 'node:timers/promises'
import type { NewEvent } from '../../contract/event.ts'
import { steadyNow } from '../../contract/time.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Caller } from '../../keys/caller.ts'
import type { Lane, QueueLimits } from '../../ledger/queue-rows.ts'
import type { QueueTable } from '../../ledger/queue-table.ts'
import type { SourceSettings } from '../../sources/settings.ts'
import type { PendingSettings } from '../settings.ts'

export type QueueSettings = {
  /** A verification that is not answered within this time expires. */
  readonly limitMs: number
  /** How long an answer is kept. */
  readonly keepMs: number
  readonly firstRetryMs: number
  readonly longestRetryMs: number
  /** The longest wait that a caller may prefer. */
  readonly maxWaitMs: number
  /** Paid calls of one verification, in all its attempts. */
  readonly paidCalls: number
  readonly limits: QueueLimits
  /** Attempts at the same time in this process. */
  readonly concurrency: Readonly<Record<Lane, number>>
}

/** What verifications that are answered later need of the server. */
export type QueueDeps = {
  readonly table: QueueTable
  readonly keyring: Keyring
  readonly settings: QueueSettings
  readonly signals: QueueSignals
  readonly pace: QueuePace
  /** The key that asked, or the one it was rolled to. Undefined when it has ended. */
  readonly findCaller: (keyId: string) => Promise<Caller | undefined>
  /** Called after the commit of an event. */
  readonly announce: (event: NewEvent) => void
}

type Config = PendingSettings & Pick<SourceSettings, 'paidCalls'> & { readonly batchConcurrency: number }

/** The worker is started when the context is complete. */
export const openQueue = (
  config: Config,
  { queue: table }: { readonly queue: QueueTable },
  keyring: Keyring,
  { findCaller, announce }: Pick<QueueDeps, 'findCaller' | 'announce'>,
): QueueDeps => ({
  table,
  keyring,
  findCaller,
  signals: createQueueSignals(table.listEnded),
  pace: createQueuePace(config.pendingConcurrency),
  announce,
  settings: {
    limitMs: config.pendingLimit,
    keepMs: config.pendingKeep,
    firstRetryMs: config.pendingRetry,
    longestRetryMs: config.pendingRetryMax,
    maxWaitMs: config.pendingWait,
    paidCalls: config.paidCalls,
    limits: { perKey: config.pendingMaxPerKey, all: config.pendingMax },
    concurrency: { single: config.pendingConcurrency, batch: config.batchConcurrency },
  },
})

/** After that of batches. */
export const toCleanup = ({ table, settings }: QueueDeps) => ({
  deleteExpired: async () => {
    const corrected = await table.correctDue(settings, steadyNow())
    return Math.max(corrected, await table.deleteExpired(settings.keepMs, steadyNow()))
  },
})

/** How fast this process works on single verifications, for the time that callers are told to wait. */
type QueuePace = {
  /** An attempt begins. The returned function is to be called at its end. */
  readonly begin: () => () => void
  /** How many keys have due work. */
  readonly look: (keys: number) => void
  /** Whether a verification that is due probably has to wait for a place: there was none free lately. */
  readonly isFull: () => boolean
  /** How long a verification takes that is due and has so many of its own key before it. */
  readonly estimateMs: (before: number) => number
}

/** What one attempt counts in the mean. */
const WEIGHT = 0.1
/** Attempts that began together end together, and the next ones begin a moment later. */
const LATELY_MS = 1000

export function createQueuePace(places: number, now: () => number = () => performance.now()): QueuePace {
  let running = 0
  let fullAt = Number.NEGATIVE_INFINITY
  let keysDue = 1
  let meanMs: number | undefined
  return {
    begin: () => {
      const begunAt = now()
      running += 1
      return () => {
        const tookMs = now() - begunAt
        if (running >= places) fullAt = now()
        running -= 1
        meanMs = meanMs === undefined ? tookMs : meanMs + WEIGHT * (tookMs - meanMs)
      }
    },
    look: (keys) => {
      keysDue = Math.max(keys, 1)
    },
    isFull: () => running >= places || now() - fullAt < LATELY_MS,
    // Keys take turns, so each of those before it lets one of every other key in.
    estimateMs: (before) => (1 + (before * keysDue) / places) * (meanMs ?? 0),
  }
}

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
const MAX_AT_ONCE = 1000

export function createQueueSignals(listEnded: QueueTable['listEnded']): QueueSignals {
  const waiting = new Map<string, Set<() => void>>()
  let isLooking = false
  const resumeAll = (reference: string) => {
    for (const resume of waiting.get(reference) ?? []) resume()
  }
  const look = async () => {
    const awaited = [...waiting.keys()]
    for (let at = 0; at < awaited.length; at += MAX_AT_ONCE)
      (await listEnded(awaited.slice(at, at + MAX_AT_ONCE))).forEach(resumeAll)
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
