import type { QueueSettings } from './queue-deps.ts'

/** The random part of a delay, so that verifications that failed together are not retried together. */
const JITTER = 0.25

/** The time until the next attempt: it doubles with each attempt that failed. */
export function toRetryDelay(
  { firstRetryMs, longestRetryMs }: Pick<QueueSettings, 'firstRetryMs' | 'longestRetryMs'>,
  failedAttempts: number,
  random: () => number = Math.random,
): number {
  const doublings = Math.min(Math.max(failedAttempts - 1, 0), 40)
  const delayMs = Math.min(firstRetryMs * 2 ** doublings, longestRetryMs)
  return Math.round(delayMs * (1 - JITTER * random()))
}
