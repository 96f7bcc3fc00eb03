/** closed: asked as usual. open: not asked for a while. half_open: one question at a time finds out whether it is back. */
export type BreakerState = 'closed' | 'open' | 'half_open'

/** Stops asking a source that keeps failing, per operation. "Not found" is a success. */
export type Breaker = {
  readonly state: () => BreakerState
  /** Undefined: do not ask. A probe must be settled or released, or no other is let through. */
  readonly admit: () => 'usual' | 'probe' | undefined
  readonly settle: (admitted: 'usual' | 'probe', succeeded: boolean) => void
  /** Nothing was asked after all. */
  readonly release: (admitted: 'usual' | 'probe') => void
}

const WINDOW_S = 30
const LEAST_CALLS = 20
const MOST_FAILURES = 0.5
const OPEN_MS = 10_000
/** One lucky answer does not make a source well. */
const PROBES = 3

type Second = { second: number; calls: number; failures: number }

export function createBreaker(now: () => number = Date.now): Breaker {
  const window: Second[] = Array.from({ length: WINDOW_S }, () => ({
    second: Number.NEGATIVE_INFINITY,
    calls: 0,
    failures: 0,
  }))
  let openedAt: number | undefined
  let probing = false
  let passed = 0

  const count = (succeeded: boolean) => {
    const second = Math.floor(now() / 1000)
    const slot = window[second % WINDOW_S] as Second
    if (slot.second !== second) Object.assign(slot, { second, calls: 0, failures: 0 })
    slot.calls += 1
    if (!succeeded) slot.failures += 1
  }
  const isFailing = () => {
    const oldest = Math.floor(now() / 1000) - WINDOW_S
    const recent = window.filter(({ second }) => second > oldest)
    const calls = recent.reduce((sum, slot) => sum + slot.calls, 0)
    const failures = recent.reduce((sum, slot) => sum + slot.failures, 0)
    return calls >= LEAST_CALLS && failures >= calls * MOST_FAILURES
  }
  const open = () => {
    openedAt = now()
    passed = 0
  }
  const close = () => {
    openedAt = undefined
    for (const slot of window) slot.second = Number.NEGATIVE_INFINITY
  }
  const state = (): BreakerState => {
    if (openedAt === undefined) return 'closed'
    return now() - openedAt < OPEN_MS ? 'open' : 'half_open'
  }
  const settleProbe = (succeeded: boolean) => {
    probing = false
    if (!succeeded) return open()
    passed += 1
    if (passed >= PROBES) close()
  }
  const settleUsual = (succeeded: boolean) => {
    // What was asked before it opened, and came back late, changes nothing any more.
    if (openedAt !== undefined) return
    count(succeeded)
    if (!succeeded && isFailing()) open()
  }

  return {
    state,
    admit: () => {
      const is = state()
      if (is === 'closed') return 'usual'
      if (is === 'open' || probing) return undefined
      probing = true
      return 'probe'
    },
    settle: (admitted, succeeded) => (admitted === 'probe' ? settleProbe(succeeded) : settleUsual(succeeded)),
    release: (admitted) => {
      if (admitted === 'probe') probing = false
    },
  }
}
