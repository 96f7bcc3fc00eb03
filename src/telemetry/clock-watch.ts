import { steadyNow } from '../contract/time.ts'
import type { Log } from './log.ts'

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
