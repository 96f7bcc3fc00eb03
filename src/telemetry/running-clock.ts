import { steadyNow } from '../contract/time.ts'
import type { Log } from './log.ts'

/**
 * Time during which the event loop ran. While it stands still (a blocked loop, a stopped process, a paused machine), no answer can
 * be read, so that time does not count for any deadline.
 */
type RunningClock = {
  /** To be called every TICK_MS. */
  readonly tick: () => void
  /** Like performance.now, without the standstills. */
  readonly now: () => number
  /** How much of the time since then the event loop ran; `since` is a time of performance.now. */
  readonly ranMs: (since: number) => number
}

type Standstill = { readonly from: number; readonly until: number }

const TICK_MS = 100
/** A tick that is late by less is ordinary: it is a busy loop, and counts as running. */
const ORDINARY_MS = 250
/**
 * The longest standstill during a wait does not count, and of the others together at most this much: a caller is not held by a
 * process that stands still again and again.
 */
const MAX_OTHERS_MS = 2000
const MAX_KEPT = 32

export function createRunningClock(wallNow: () => number = () => performance.now()): RunningClock {
  let tickedAt = wallNow()
  let ranAtTick = tickedAt
  let kept: Standstill[] = []
  /** The standstill since the last tick, if there is one. */
  const current = (now: number): Standstill | undefined =>
    now - tickedAt > ORDINARY_MS ? { from: tickedAt + ORDINARY_MS, until: now } : undefined
  // When a process is restored from a checkpoint, its monotonic clock may be set back. That is not time either.
  const toNow = (now: number) => ranAtTick + Math.min(Math.max(now - tickedAt, 0), ORDINARY_MS)
  return {
    tick: () => {
      const now = wallNow()
      const ended = current(now)
      if (ended) kept = [...kept.slice(1 - MAX_KEPT), ended]
      if (now < tickedAt) kept = []
      ranAtTick = toNow(now)
      tickedAt = now
    },
    now: () => toNow(wallNow()),
    ranMs: (since) => {
      const now = wallNow()
      const lasting = current(now)
      let [sum, longest] = [0, 0]
      for (const { from, until } of lasting ? [...kept, lasting] : kept) {
        const ms = Math.max(0, until - Math.max(from, since))
        sum += ms
        longest = Math.max(longest, ms)
      }
      return now - since - Math.min(sum, longest + MAX_OTHERS_MS)
    },
  }
}

const clock = createRunningClock()
setInterval(clock.tick, TICK_MS).unref()

export const { now: runningNow, ranMs, tick: tickRunningClock } = clock

/** Calls back when the event loop has run for this long. Returns a function that prevents it. */
export function afterRunning(ms: number, done: () => void): () => void {
  const startedAt = performance.now()
  let timer: NodeJS.Timeout
  const check = () => {
    const leftMs = ms - ranMs(startedAt)
    // Timers may be early by less than a millisecond.
    if (leftMs >= 1) timer = setTimeout(check, leftMs)
    else done()
  }
  // The time of a caller may be over. Node.js writes a warning about a time below zero.
  timer = setTimeout(check, Math.max(ms, 0))
  return () => clearTimeout(timer)
}

const CHECK_EVERY_MS = 10_000
/** Smaller steps are ordinary corrections. */
const MIN_STEP_MS = 5000

/**
 * Warns when the wall clock was set back while the server runs. Until the next start, expiry is checked against the later
 * time, so a short-lived key that another process has created may be refused.
 */
export function watchClock(log: Pick<Log, 'event'>): void {
  let reported = 0
  setInterval(() => {
    const behindMs = steadyNow() - Date.now()
    if (behindMs < reported + MIN_STEP_MS) return
    reported = behindMs
    log.event('warn', 'clock_set_back', { seconds: Math.round(behindMs / 1000) })
  }, CHECK_EVERY_MS).unref()
}

/**
 * Runs work with a signal that aborts after a time, or when the outer signal does. Time during which our own process stood still does
 * not count, and what has arrived by then is read first. Unlike AbortSignal.timeout it clears its timer when the work ends: under load,
 * thousands of timers would keep requests in memory for seconds.
 */
export async function withDeadline<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const controller = new AbortController()
  const end = () => controller.abort()
  if (outer?.aborted) end()
  outer?.addEventListener('abort', end, { once: true })
  let lastTurn: NodeJS.Immediate | undefined
  const cancel = afterRunning(ms, () => {
    // Immediates run after sockets were read.
    lastTurn = setImmediate(end)
  })
  try {
    return await work(controller.signal)
  } finally {
    cancel()
    clearImmediate(lastTurn)
    outer?.removeEventListener('abort', end)
  }
}

/** The result of the work, or of `otherwise` when the signal aborts first. */
export function orWhenAborted<T, R>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  otherwise: () => R,
): Promise<T | R> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    // Work that obeys the signal fails in the same turn with a more precise error, so it goes first.
    const end = () => setImmediate(() => Promise.try(otherwise).then(resolve, reject))
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
