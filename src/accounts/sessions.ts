import { AdminError } from '../contract/admin-error.ts'
import type { Actor } from '../contract/role.ts'
import { HOUR_MS, MINUTE_MS, steadyNow } from '../contract/time.ts'
import { VERSION } from '../version.ts'
import type { SessionDetails, SessionRow } from './account-rows.ts'
import type { AccountTable } from './account-table.ts'
import type { FactorUse } from './factor-rows.ts'
import { lacksFactor, type RequiredRoles } from './required-factor.ts'
import { createToken, toTokenId } from './token.ts'
import type { Session } from './views.ts'

const IDLE_MS = 15 * MINUTE_MS
const LIFE_MS = 8 * HOUR_MS
/** The last activity is stored at most this often. */
const TOUCH_EVERY_MS = MINUTE_MS

/** Opened while the clock was ahead. Its age is unknown, so it counts as ended. */
const isAhead = ({ createdAt }: SessionRow, now: number) => createdAt > now + TOUCH_EVERY_MS

export const toLimits = (now: number) => ({ openedAfter: now - LIFE_MS, seenAfter: now - IDLE_MS })

export type Sessions = {
  /** The account that holds this cookie; undefined when the session has ended. Background requests do not extend it. */
  readonly findActor: (token: string, options: { isBackground: boolean }) => Promise<Actor | undefined>
  /** What the console shows about a session; undefined when it has ended. */
  readonly describe: (actor: Actor) => Promise<Session | undefined>
  /** The token for the cookie. Uses the code up. Throws `wrong_password` or `wrong_code` if either has changed meanwhile. */
  readonly open: (
    account: { readonly name: string; readonly password: string },
    details: SessionDetails,
    factor?: FactorUse,
  ) => Promise<string>
  readonly end: (actor: Actor) => Promise<void>
}

export const createSessions = (table: AccountTable, required: RequiredRoles = 'off'): Sessions => ({
  findActor: async (token, { isBackground }) => {
    const id = toTokenId(token)
    const now = steadyNow()
    const row = id && (await table.findSession(id, toLimits(now)))
    if (!row || isAhead(row, now)) return undefined
    // Reading must work while nothing can be written, for example on a full disk. The session then ends earlier.
    if (!isBackground && now - row.seenAt >= TOUCH_EVERY_MS) await table.touch(id, now).catch(() => {})
    return toActor(row)
  },
  describe: async (actor) => {
    const now = steadyNow()
    const row = await table.findSession(toSessionId(actor), toLimits(now))
    return row && !isAhead(row, now) ? toSession(row, required) : undefined
  },
  open: async ({ name, password }, details, factor) => {
    const token = createToken()
    const id = toTokenId(token) as Uint8Array
    const opening = { id, account: name, password, at: steadyNow(), details, factor }
    const refusal = await table.open(opening)
    if (refusal) throw new AdminError(refusal)
    return token
  },
  end: async (actor) => {
    await table.end(toSessionId(actor))
  },
})

export const toSessionId = ({ session }: Actor): Uint8Array => Buffer.from(session, 'hex')

const toActor = ({ id, account, role, method, confirmedAt }: SessionRow): Actor => ({
  name: account,
  role,
  session: Buffer.from(id).toString('hex'),
  method,
  confirmedAt,
})

const toSession = (row: SessionRow, required: RequiredRoles): Session => ({
  name: row.account,
  role: row.role,
  method: row.method,
  has_password: row.hasPassword,
  must_set_up: lacksFactor(row, required),
  idle_until: toTime(Math.min(row.seenAt + IDLE_MS, row.createdAt + LIFE_MS)),
  expires_at: toTime(row.createdAt + LIFE_MS),
  version: VERSION,
})

const toTime = (at: number) => new Date(at).toISOString()

/** Deletes ended sessions, expired invitations, and counts and challenges of sign-ins that are over. */
export const forgetSessions = (table: AccountTable): Promise<void> => {
  const now = steadyNow()
  return table.forget({ ...toLimits(now), now })
}
