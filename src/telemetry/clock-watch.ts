import { steadyNow } from '../contract/time.ts'
import type { Log } from './log.ts'

const LOOK_EVERY_MS = 10_000
/** Less is ordinary correction. */
const LEAST_MS = 5000

/**
 * Warns when the wall clock was set back while the server runs. Expiry times go on from the later time until the server is
 * started again, so a key that was given a short life by another process may be refused.
 */
export function watchClock(log: Pick<Log, 'event'>): void {
  let told = 0
  setInterval(() => {
    const behindMs = steadyNow() - Date.now()
    if (behindMs < told + LEAST_MS) return
    told = behindMs
    log.event('warn', 'clock_set_back', { seconds: Math.round(behindMs / 1000) })
  }, LOOK_EVERY_MS).unref()
}
