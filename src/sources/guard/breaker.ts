import { MINUTE_MS } from '../../contract/time.ts'

/** closed: called as usual. open: not called for a while. half_open: one probe at a time finds out whether it is back. */
export type BreakerState = 'closed' | 'open' | 'half_open'

/** `timeout`: no answer came. "Not found" is a success. */
export type CallResult = 'success' | 'failure' | 'timeout'

/** Stops calls to an operation of a source that keeps failing. */
export type Breaker = {
  readonly state: () => BreakerState
  /** Undefined: do not call. A probe must be settled or released, or no other is admitted. */
  readonly admit: () => 'usual' | 'probe' | undefined
  readonly settle: (admitted: 'usual' | 'probe', result: CallResult) => void
  /** The call was not made. */
  readonly release: (admitted: 'usual' | 'probe') => void
  /** A usual call has taken much longer than normal. It may still be answered. */
  readonly recordHang: () => void
  /** The most recent call hung. */
  readonly isSuspect: () => boolean
}

type BreakerOptions = {
  /** Monotonic, in milliseconds. */
  readonly now?: () => number
  /** From 0 to 1. */
  readonly random?: () => number
  /** The breaker opened or closed. */
  readonly onChange?: (state: 'open' | 'closed') => void
}

const WINDOW_S = 30
const MIN_CALLS = 20
const MAX_FAILURE_SHARE = 0.5
/** This many in a row open it too: a quiet server never makes 20 calls in 30 seconds. */
const FAILURES_IN_ROW = 5
const HANGS_IN_ROW = 3
/** The wait before the first probe. It doubles with each opening, until the breaker has stayed closed for a minute. */
const FIRST_WAIT_MS = 5000
const MAX_WAIT_MS = MINUTE_MS
const STABLE_AFTER_MS = MINUTE_MS
/** The random part of the wait, so that probes do not synchronise with a source that fails periodically. */
const JITTER = 0.25
/** One successful probe is not proof that the source has recovered. */
const PROBES = 3

type Second = { second: number; calls: number; failures: number }

export function createBreaker({
  now = () => performance.now(),
  random = Math.random,
  onChange = () => {},
}: BreakerOptions = {}): Breaker {
  const window = createWindow(now)
  /** When the next probe may be made; undefined while the breaker is closed. */
  let probeAt: number | undefined
  let openedByHangs = false
  let closedAt = Number.NEGATIVE_INFINITY
  let openings = 0
  let probing = false
  let passed = 0
  let failuresInRow = 0
  let hangsInRow = 0

  const open = (byHangs: boolean) => {
    const wasClosed = probeAt === undefined
    if (wasClosed && now() - closedAt > STABLE_AFTER_MS) openings = 0
    const wait = Math.min(FIRST_WAIT_MS * 2 ** openings, MAX_WAIT_MS)
    probeAt = now() + wait * (1 - JITTER + 2 * JITTER * random())
    openedByHangs = byHangs
    openings += 1
    passed = 0
    if (wasClosed) onChange('open')
  }
  const close = () => {
    probeAt = undefined
    closedAt = now()
    failuresInRow = 0
    hangsInRow = 0
    window.clear()
    onChange('closed')
  }
  const state = (): BreakerState => {
    if (probeAt === undefined) return 'closed'
    return now() < probeAt ? 'open' : 'half_open'
  }
  const settleProbe = (result: CallResult) => {
    probing = false
    if (result !== 'success') return open(false)
    passed += 1
    if (passed >= PROBES) close()
  }
  const settleUsual = (result: CallResult) => {
    if (probeAt !== undefined) {
      // The answer to an earlier call. It disproves a hang, and says nothing about other failures.
      if (result === 'success' && openedByHangs) probeAt = Math.min(probeAt, now())
      return
    }
    window.count(result === 'success')
    failuresInRow = result === 'success' ? 0 : failuresInRow + 1
    if (result !== 'timeout') hangsInRow = 0
    if (failuresInRow >= FAILURES_IN_ROW || (result !== 'success' && window.isFailing())) open(false)
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
    settle: (admitted, result) => (admitted === 'probe' ? settleProbe(result) : settleUsual(result)),
    release: (admitted) => {
      if (admitted === 'probe') probing = false
    },
    recordHang: () => {
      hangsInRow += 1
      if (probeAt === undefined && hangsInRow >= HANGS_IN_ROW) open(true)
    },
    isSuspect: () => hangsInRow > 0,
  }
}

/** How many calls of the last thirty seconds failed. */
function createWindow(now: () => number) {
  const slots: Second[] = Array.from({ length: WINDOW_S }, () => ({
    second: -WINDOW_S,
    calls: 0,
    failures: 0,
  }))
  const current = () => Math.floor(now() / 1000)
  return {
    count: (succeeded: boolean): void => {
      const second = current()
      const slot = slots[second % WINDOW_S] as Second
      if (slot.second !== second) Object.assign(slot, { second, calls: 0, failures: 0 })
      slot.calls += 1
      if (!succeeded) slot.failures += 1
    },
    isFailing: (): boolean => {
      const recent = slots.filter(({ second }) => second > current() - WINDOW_S)
      const calls = recent.reduce((sum, slot) => sum + slot.calls, 0)
      const failures = recent.reduce((sum, slot) => sum + slot.failures, 0)
      return calls >= MIN_CALLS && failures >= calls * MAX_FAILURE_SHARE
    },
    clear: (): void => {
      for (const slot of slots) slot.second = -WINDOW_S
    },
  }
}
