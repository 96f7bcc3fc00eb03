/** The requests in flight: in all, and of each key. */
export type InFlight = {
  /** So few that a request begins whatever the event loop and the paused connections say. */
  readonly isFew: () => boolean
  readonly count: () => number
  /** False when a limit is reached, or the event loop was blocked. */
  readonly acquire: (keyId: string) => boolean
  /** Above the limits if need be. */
  readonly take: (keyId: string) => void
  readonly release: (keyId: string) => void
  readonly close: () => void
}

export type InFlightLimits = {
  readonly all: number
  readonly perKey: number
  /** Nodes that share the limit of a key. Each has an equal part, at least 1. Absent: it is the limit of this process. */
  readonly countNodes?: () => number
}

const FEW = 16
/** Above this, keys without a request in flight are dropped from the map. */
const MAX_KEYS = 10_000
const TICK_MS = 250
const MAX_LAG_MS = 1000

export function createInFlight({ all, perKey, countNodes = () => 1 }: InFlightLimits): InFlight {
  const byKey = new Map<string, number>()
  const lag = watchEventLoopLag()
  let total = 0
  const isKeyFull = (count: number) => count > 0 && count >= Math.floor(perKey / countNodes())
  const take = (keyId: string) => {
    if (byKey.size >= MAX_KEYS) dropIdleKeys()
    total += 1
    byKey.set(keyId, (byKey.get(keyId) ?? 0) + 1)
  }
  const dropIdleKeys = () => {
    for (const [keyId, count] of byKey) if (count === 0) byKey.delete(keyId)
  }
  return {
    isFew: () => total < FEW,
    count: () => total,
    acquire: (keyId) => {
      const count = byKey.get(keyId) ?? 0
      if (total >= all || isKeyFull(count) || (total >= FEW && lag.isTooLong())) return false
      take(keyId)
      return true
    },
    take,
    release: (keyId) => {
      total -= 1
      byKey.set(keyId, (byKey.get(keyId) ?? 1) - 1)
    },
    close: lag.close,
  }
}

/** Below this share of processor time, the process was stopped and not busy: that is no load. */
const MIN_BUSY = 0.1

/** A timer that fires late shows how long the event loop was blocked. */
function watchEventLoopLag() {
  let lagMs = 0
  let expected = performance.now() + TICK_MS
  let cpu = process.cpuUsage()
  const timer = setInterval(() => {
    const now = performance.now()
    const { user, system } = process.cpuUsage(cpu)
    const lateMs = Math.max(0, now - expected)
    lagMs = (user + system) / 1000 < lateMs * MIN_BUSY ? 0 : lateMs
    expected = now + TICK_MS
    cpu = process.cpuUsage()
  }, TICK_MS).unref()
  return { isTooLong: () => lagMs > MAX_LAG_MS, close: () => clearInterval(timer) }
}
