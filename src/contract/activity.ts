import { MINUTE_MS } from './time.ts'

/** A session ends after so long without activity. */
export const IDLE_MS = 15 * MINUTE_MS

/** The last activity is stored at most this often, so a session may end so much earlier. */
export const TOUCH_EVERY_MS = MINUTE_MS

/** The console sets this header on requests that no click and no key of the user has caused. They do not extend the session. */
export const UNATTENDED_HEADER = 'tabbat-unattended'
