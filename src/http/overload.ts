import type { Config } from '../config.ts'
import { createWaitingRoom, type InFlightLimits } from './waiting-room.ts'

/**
 * Bounds the requests under way. A request that finds no place waits for one a moment and is refused then. Refusals are
 * paced: a caller that is refused asks again at once, and answering all of them at once would leave no time for the rest.
 */
export type Overload = {
  /** Undefined: it may begin. Otherwise it waits: true when it may begin, false when it is refused. */
  readonly enter: (keyId: string, socket?: { readonly destroyed?: boolean }) => undefined | Promise<boolean>
  /** Due once for every request that was let in. */
  readonly leave: (keyId: string) => void
  readonly close: () => void
}

/** What one key may take unless the operator says otherwise: most of it, and never all. */
const SHARE_OF_KEY = 0.8

export const toInFlightLimits = ({
  maxInFlight: all,
  maxInFlightPerKey: perKey = Math.ceil(all * SHARE_OF_KEY),
}: Pick<Config, 'maxInFlight' | 'maxInFlightPerKey'>): InFlightLimits => ({ all, perKey })

const LAG_TICK_MS = 250
const MOST_LAG_MS = 1000
/** How long a request waits for a place before it may be refused. */
const PATIENCE_MS = 15
/** Requests are refused soon or not at all: those that have waited longer get the next places. */
const REFUSED_BY_MS = 35
/** Refused then in any case. */
const MOST_WAIT_MS = 5000
const MOST_WAITING = 10_000
const TICK_MS = 5
/** Refusals in a tick while there is time to spare. */
const MOST_REFUSED = 50
/** Above this share of a processor, or of the time of the event loop, there is none to spare. */
const BUSY = 0.85
/** Refusals for each request that was answered meanwhile, where there is none: a small part of the work. */
const REFUSED_PER_ANSWER = 0.7
/** Refusals in a tick in any case. */
const LEAST_REFUSED = 10

export function createOverload(limits: InFlightLimits): Overload {
  const lag = watchLag()
  const room = createWaitingRoom(limits, lag.isTooLong)
  let answered = 0
  let ticking: NodeJS.Timeout | undefined
  const readLoad = createReadLoad()

  const refuse = (count: number, withinMs: number) => {
    const now = performance.now()
    room.refuse(count, (line) =>
      line.oldestSince() < now - MOST_WAIT_MS
        ? line.takeOldest()
        : line.takeNewest(now - withinMs, now - PATIENCE_MS),
    )
  }
  const tick = () => {
    const { share, sinceMs } = readLoad()
    const count = share > BUSY ? Math.max(LEAST_REFUSED, answered * REFUSED_PER_ANSWER) : MOST_REFUSED
    refuse(count, REFUSED_BY_MS + sinceMs)
    answered = 0
    room.admit()
    if (room.waiting() > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
  const startTicking = () => {
    readLoad()
    answered = 0
    return setInterval(tick, TICK_MS)
  }
  return {
    enter: (keyId, socket) => {
      if (room.take(keyId)) return undefined
      if (room.waiting() >= MOST_WAITING) return Promise.resolve(false)
      ticking ??= startTicking()
      const isGone = () => socket?.destroyed === true
      return new Promise((settle) => room.wait(keyId, { since: performance.now(), isGone, settle }))
    },
    leave: (keyId) => {
      room.leave(keyId)
      answered += 1
      room.admit()
    },
    close: () => {
      lag.close()
      clearInterval(ticking)
    },
  }
}

/** How busy the process was since it was read last. Threads count too: they may share the processor with the event loop. */
function createReadLoad() {
  let at = performance.now()
  let cpu = process.cpuUsage()
  let loop = performance.eventLoopUtilization()
  return () => {
    const [atBefore, cpuBefore, loopBefore] = [at, cpu, loop]
    at = performance.now()
    cpu = process.cpuUsage()
    loop = performance.eventLoopUtilization()
    const usedMs = (cpu.user + cpu.system - cpuBefore.user - cpuBefore.system) / 1000
    const { utilization } = performance.eventLoopUtilization(loop, loopBefore)
    const sinceMs = at - atBefore
    return { sinceMs, share: Math.max(utilization, usedMs / sinceMs) }
  }
}

/** A timer that comes late shows how long the event loop was held up. */
function watchLag() {
  let lagMs = 0
  let expected = performance.now() + LAG_TICK_MS
  const timer = setInterval(() => {
    const now = performance.now()
    lagMs = Math.max(0, now - expected)
    expected = now + LAG_TICK_MS
  }, LAG_TICK_MS).unref()
  return { isTooLong: () => lagMs > MOST_LAG_MS, close: () => clearInterval(timer) }
}
