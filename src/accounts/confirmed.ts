import type { Actor } from '../contract/role.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'

/** So that a browser which was left open, or a stolen cookie, cannot take over accounts. */
const CONFIRMED_MS = 10 * MINUTE_MS

/** Whether the account proved who it is a few minutes ago. A token cannot do that. */
export const isConfirmed = ({ token, confirmedAt }: Actor): boolean =>
  token === undefined && (confirmedAt === undefined || steadyNow() - confirmedAt < CONFIRMED_MS)
