import { DAY_MS, HOUR_MS, MINUTE_MS } from '../contract/time.ts'

/** The waits after each failed attempt; after the last one the delivery has failed. */
const DELAYS_MS = [
  5000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const

/** The random part of a wait, so that many deliveries that failed together are not repeated together. */
const JITTER = 0.1

/** A longer Retry-After is cut to this. */
export const LONGEST_RETRY_AFTER_MS = DAY_MS

/** An endpoint that fails for this long is disabled. */
export const DISABLE_AFTER_MS = 5 * DAY_MS

/** The wait after a failure that `tries` others preceded; undefined when there is no further attempt. */
export function toRetryDelayMs(
  tries: number,
  retryAfterMs = 0,
  random: () => number = Math.random,
): number | undefined {
  const delay = DELAYS_MS[tries]
  if (delay === undefined) return undefined
  return Math.round(Math.max(delay * (1 - JITTER + 2 * JITTER * random()), retryAfterMs))
}
