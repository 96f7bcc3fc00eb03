import { AdminError } from '../contract/admin-error.ts'
import { HOUR_MS } from '../contract/time.ts'

/** A counter of wrong passwords. */
export type ThrottleKey = {
  readonly key: string
  /** Failures without a wait. */
  readonly free: number
  readonly longestWaitMs: number
}

type Attempt = {
  /** The password was right. Resets the first counter, and takes this attempt off the others. */
  readonly succeed: () => void
  /** The password was wrong. The wait starts now: comparing may have taken a while. */
  readonly fail: () => void
  /** Nothing was compared: takes this attempt off all counters. */
  readonly withdraw: () => void
}

export type Throttle = {
  /**
   * Counts an attempt before its result is known, so that parallel attempts count like sequential ones. Throws
   * `too_many_tries` during a wait.
   */
  readonly begin: (throttleKeys: readonly ThrottleKey[]) => Attempt
  /** Resets the counters that match. */
  readonly reset: (isMatch: (key: string) => boolean) => void
}

type Count = { readonly failures: number; readonly waitUntil: number; readonly at: number }

const FIRST_WAIT_MS = 1000
const MOST_KEYS = 10_000
/** A counter starts anew after this time without a failure. */
const FORGET_AFTER_MS = HOUR_MS

export const toTooManyTries = (waitMs: number) =>
  new AdminError('too_many_tries', { headers: ['retry-after', String(Math.ceil(waitMs / 1000))] })

/** Counts failures in memory. The wait is 1, 2, 4 … seconds, up to the maximum of the key. */
export function createThrottle(now = () => performance.now()): Throttle {
  const counts = new Map<string, Count>()
  const read = (key: string): Count => {
    const known = counts.get(key)
    return known && now() - known.at < FORGET_AFTER_MS ? known : { failures: 0, waitUntil: 0, at: 0 }
  }
  /** A written key moves to the end, so the first key is the least recently used and is evicted. */
  const write = (key: string, next: Count) => {
    counts.delete(key)
    if (next.failures > 0) counts.set(key, next)
    const oldest = counts.keys().next().value
    if (counts.size > MOST_KEYS && oldest !== undefined) counts.delete(oldest)
  }
  const count = (throttleKey: ThrottleKey, failures: number) =>
    write(throttleKey.key, { failures, waitUntil: now() + toWait(throttleKey, failures), at: now() })
  const takeOff = ({ key }: ThrottleKey) => {
    const { failures, at } = read(key)
    write(key, { failures: Math.max(failures - 1, 0), waitUntil: 0, at })
  }
  return {
    begin: (throttleKeys) => {
      const waitMs = Math.max(...throttleKeys.map(({ key }) => read(key).waitUntil - now()))
      if (waitMs > 0) throw toTooManyTries(waitMs)
      for (const throttleKey of throttleKeys) count(throttleKey, read(throttleKey.key).failures + 1)
      return {
        fail: () => {
          for (const throttleKey of throttleKeys) count(throttleKey, read(throttleKey.key).failures)
        },
        succeed: () => {
          const [first, ...others] = throttleKeys
          if (first) counts.delete(first.key)
          for (const throttleKey of others) takeOff(throttleKey)
        },
        withdraw: () => {
          for (const throttleKey of throttleKeys) takeOff(throttleKey)
        },
      }
    },
    reset: (isMatch) => {
      for (const key of counts.keys()) if (isMatch(key)) counts.delete(key)
    },
  }
}

const toWait = ({ free, longestWaitMs }: ThrottleKey, failures: number) =>
  failures < free ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (failures - free), longestWaitMs)
