import { AdminError } from '../contract/admin-error.ts'
import { HOUR_MS } from '../contract/time.ts'

/** What wrong passwords are counted by. */
export type ThrottleKey = {
  readonly key: string
  /** Failures that cost no wait. */
  readonly free: number
  readonly longestWaitMs: number
}

export type Try = {
  /** The password was right: the first throttleKey starts anew, from the others this try is taken away. */
  readonly succeed: () => void
  /** The wait begins now: comparing takes a while, when many wait for it. */
  readonly fail: () => void
  /** Nothing was compared. */
  readonly withdraw: () => void
}

export type Throttle = {
  /** A try counts from the start, so that many at once are as many as many in turn. Refused while there is a wait. */
  readonly begin: (throttleKeys: readonly ThrottleKey[]) => Try
  readonly forgive: (isForgiven: (key: string) => boolean) => void
}

type Count = { readonly failures: number; readonly waitUntil: number; readonly at: number }

const FIRST_WAIT_MS = 1000
const MOST_KEYS = 10_000
/** After so long without a failure, what was is forgotten. */
const FORGET_AFTER_MS = HOUR_MS

export const toTooManyTries = (waitMs: number) =>
  new AdminError('too_many_tries', { headers: ['retry-after', String(Math.ceil(waitMs / 1000))] })

/** Counts failures in memory: 1, 2, 4 … seconds of waiting, up to what the throttleKey says. */
export function createThrottle(now = () => performance.now()): Throttle {
  const counts = new Map<string, Count>()
  const read = (key: string): Count => {
    const known = counts.get(key)
    return known && now() - known.at < FORGET_AFTER_MS ? known : { failures: 0, waitUntil: 0, at: 0 }
  }
  /** What was touched last stands last; what was not touched for the longest time goes when there are too many. */
  const write = (key: string, next: Count) => {
    counts.delete(key)
    if (next.failures > 0) counts.set(key, next)
    const oldest = counts.keys().next().value
    if (counts.size > MOST_KEYS && oldest !== undefined) counts.delete(oldest)
  }
  const count = (throttleKey: ThrottleKey, failures: number) =>
    write(throttleKey.key, { failures, waitUntil: now() + toWait(throttleKey, failures), at: now() })
  const takeBack = ({ key }: ThrottleKey) => {
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
          for (const throttleKey of others) takeBack(throttleKey)
        },
        withdraw: () => {
          for (const throttleKey of throttleKeys) takeBack(throttleKey)
        },
      }
    },
    forgive: (isForgiven) => {
      for (const key of counts.keys()) if (isForgiven(key)) counts.delete(key)
    },
  }
}

const toWait = ({ free, longestWaitMs }: ThrottleKey, failures: number) =>
  failures < free ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (failures - free), longestWaitMs)
