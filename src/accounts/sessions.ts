import type { Actor } from '../contract/role.ts'
import { HOUR_MS, MINUTE_MS, steadyNow } from '../contract/time.ts'
import type { SessionRow } from '../store/account-rows.ts'
import type { AccountTable } from '../store/account-table.ts'
import { VERSION } from '../version.ts'
import { createToken, toTokenId } from './token.ts'
import type { Session } from './views.ts'

const IDLE_MS = 15 * MINUTE_MS
const LIFE_MS = 8 * HOUR_MS
/** The last activity is stored at most this often. */
const TOUCH_EVERY_MS = MINUTE_MS

/** Opened while the clock was ahead. Its age is unknown, so it counts as ended. */
const isAhead = ({ createdAt }: SessionRow, now: number) => createdAt > now + TOUCH_EVERY_MS

const toLimits = (now: number) => ({ openedAfter: now - LIFE_MS, seenAfter: now - IDLE_MS })

export type Sessions = {
  /** The account that holds this cookie; undefined when the session has ended. Background requests do not extend it. */
  readonly findActor: (token: string, options: { isBackground: boolean }) => Promise<Actor | undefined>
  /** What the console shows about a session; undefined when it has ended. */
  readonly describe: (actor: Actor) => Promise<Session | undefined>
  /** The token for the cookie; undefined when the password has changed meanwhile. */
  readonly open: (account: {
    readonly name: string
    readonly password: string
  }) => Promise<string | undefined>
  readonly end: (actor: Actor) => Promise<void>
}

export const createSessions = (table: AccountTable): Sessions => ({
  findActor: async (token, { isBackground }) => {
    const id = toTokenId(token)
    const now = steadyNow()
    const row = id && (await table.findSession(id, toLimits(now)))
    if (!row || isAhead(row, now)) return undefined
    // Reading must work while nothing can be written, for example on a full disk. The session then ends earlier.
    if (!isBackground && now - row.seenAt >= TOUCH_EVERY_MS) await table.touch(id, now).catch(() => {})
    return { name: row.account, role: row.role, session: Buffer.from(id).toString('hex') }
  },
  describe: async (actor) => {
    const now = steadyNow()
    const row = await table.findSession(toSessionId(actor), toLimits(now))
    return row && !isAhead(row, now) ? toSession(row) : undefined
  },
  open: async ({ name, password }) => {
    const token = createToken()
    const id = toTokenId(token) as Uint8Array
    return (await table.open({ id, account: name, password, at: steadyNow() })) ? token : undefined
  },
  end: async (actor) => {
    await table.end(toSessionId(actor))
  },
})

export const toSessionId = ({ session }: Actor): Uint8Array => Buffer.from(session, 'hex')

const toSession = ({ account, role, createdAt, seenAt }: SessionRow): Session => ({
  name: account,
  role,
  idle_until: toTime(Math.min(seenAt + IDLE_MS, createdAt + LIFE_MS)),
  expires_at: toTime(createdAt + LIFE_MS),
  version: VERSION,
})

const toTime = (at: number) => new Date(at).toISOString()

/** Deletes ended sessions and expired invitations. */
export const forgetSessions = (table: AccountTable): Promise<void> => {
  const now = steadyNow()
  return table.forget({ ...toLimits(now), now })
}
