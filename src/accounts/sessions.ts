import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { AuditLog } from '../audit/audit-log.ts'
import { IDLE_MS, TOUCH_EVERY_MS } from '../contract/activity.ts'
import { AdminError } from '../contract/error.ts'
import type { Actor, Role, SignInMethod } from '../contract/role.ts'
import { HOUR_MS, MINUTE_MS, steadyNow } from '../contract/time.ts'
import { isStoreFailure } from '../database/failure.ts'
import { UserError } from '../errors.ts'
import { createBoundedMap } from '../keys/bounded-map.ts'
import { VERSION } from '../version.ts'
import type { AccountRow, AccountTable, SessionDetails, SessionMacs, SessionRow } from './account-table.ts'
import { type AccountDeps, createToken, isMac, toColumnMac, toTokenId, withAudit } from './accounts.ts'
import type { FactorUse, KeptSession } from './factor-rows.ts'
import type { OpenSession, Session } from './views.ts'

const LIFE_MS = 8 * HOUR_MS

/** Opened while the clock was ahead. Its age is unknown, so it counts as ended. */
const isAhead = ({ createdAt }: SessionRow, now: number) => createdAt > now + TOUCH_EVERY_MS

export const toLimits = (now: number) => ({ openedAfter: now - LIFE_MS, seenAfter: now - IDLE_MS })

type SessionUse = {
  /** Whether it extends the session. */
  readonly isActivity: boolean
  /** Whether a session that this process has seen open is enough while the store cannot be read. */
  readonly worksWithoutStore: boolean
}

/** What the page asks by itself, or the server about it. */
export const WITHOUT_ACTIVITY: SessionUse = { isActivity: false, worksWithoutStore: true }

export type Sessions = {
  /** The account that holds this cookie; undefined when the session has ended. */
  readonly findActor: (token: string, use: SessionUse) => Promise<Actor | undefined>
  /** What the console shows about a session; undefined when it has ended. */
  readonly describe: (actor: Actor) => Promise<Session | undefined>
  /** The token for the cookie. Uses the code up. Throws `wrong_password` or `wrong_code` if either has changed meanwhile. */
  readonly open: (
    account: { readonly name: string; readonly password: string },
    details: SessionDetails,
    factor?: FactorUse,
  ) => Promise<string>
  /** The account has proved again who it is. False when the session has ended. */
  readonly confirm: (actor: Actor) => Promise<boolean>
  /** The session after it has set up a second factor. */
  readonly toKept: (actor: Actor, method: SignInMethod) => KeptSession
  readonly end: (actor: Actor) => Promise<void>
}

/** `key` is the one of the tokens: `console-token` of the keyring. */
export function createSessions(
  table: AccountTable,
  key: () => KeyObject,
  required: RequiredRoles = 'off',
): Sessions {
  const { find, findKnown, forget } = createSessionReads(table, key)
  return {
    findActor: async (token, { isActivity, worksWithoutStore }) => {
      const id = toTokenId(key(), token)
      const now = steadyNow()
      const row = id && (await (worksWithoutStore ? findKnown : find)(id, now))
      if (!row) return undefined
      // Reading must work while nothing can be written, for example on a full disk. The session then ends earlier.
      if (isActivity && now - row.seenAt >= TOUCH_EVERY_MS)
        await Promise.race([table.touch(id, now), pause(MAX_WAIT_MS, undefined, { ref: false })]).catch(
          () => {},
        )
      return toActor(row)
    },
    describe: async (actor) => {
      const row = await findKnown(toSessionId(actor), steadyNow())
      return row && toSession(row, required)
    },
    open: async ({ name, password }, details, factor) => {
      const token = createToken()
      const id = toTokenId(key(), token) as Uint8Array
      const at = steadyNow()
      const macs = toSessionMacs(key(), { confirmedAt: at, ...details, id, account: name })
      const opening = { id, account: name, password, at, details, factor, macs }
      const refusal = await table.open(opening)
      if (refusal) throw new AdminError(refusal)
      return token
    },
    confirm: (actor) => {
      const [id, at] = [toSessionId(actor), steadyNow()]
      return table.confirm(id, at, toConfirmedMac(key(), { id, confirmedAt: at }))
    },
    toKept: (actor, method) => {
      const session = toSessionId(actor)
      return { session, sessionMac: toAccountMac(key(), { id: session, account: actor.name, method }) }
    },
    end: async (actor) => {
      forget(toSessionId(actor))
      await table.end(toSessionId(actor))
    },
  }
}

/**
 * Binds the columns of a session that give rights: who can only write to the database cannot give his own session to another
 * account, nor make it count as confirmed.
 */
export const toSessionMacs = (
  key: KeyObject,
  row: Pick<SessionRow, 'id' | 'account' | 'method' | 'confirmedAt'>,
): SessionMacs => ({
  mac: toAccountMac(key, row),
  confirmedMac: toConfirmedMac(key, row),
})

const toAccountMac = (
  key: KeyObject,
  { id, account, method }: Pick<SessionRow, 'id' | 'account' | 'method'>,
) => toColumnMac(key, ['session', toHex(id), account, method])

const toConfirmedMac = (key: KeyObject, { id, confirmedAt }: Pick<SessionRow, 'id' | 'confirmedAt'>) =>
  toColumnMac(key, ['confirmed', toHex(id), confirmedAt])

const toHex = (id: Uint8Array) => Buffer.from(id).toString('hex')

/** The session as far as it is bound. Undefined if its account or its method was changed. */
function toBound(key: KeyObject, row: SessionRow): SessionRow | undefined {
  const { mac, confirmedMac } = toSessionMacs(key, row)
  if (!isMac(row.mac, mac)) return undefined
  return isMac(row.confirmedMac, confirmedMac) ? row : { ...row, confirmedAt: 0 }
}

const MAX_KNOWN = 1000
/** A store that hangs must not hold back the page that says so. */
const MAX_WAIT_MS = 1000
const LATE = Symbol('late')

/**
 * While the store cannot be read, or hangs, the pages that are open go on with what they show by themselves: for sessions that this process
 * has seen open, until they would have ended without activity.
 */
function createSessionReads(table: Pick<AccountTable, 'findSession'>, key: () => KeyObject) {
  const known = createBoundedMap<string, SessionRow>(MAX_KNOWN)
  const find = async (id: Uint8Array, now: number): Promise<SessionRow | undefined> => {
    const found = await table.findSession(id, toLimits(now))
    const row = found && !isAhead(found, now) ? toBound(key(), found) : undefined
    if (row) known.set(toHex(id), row)
    else known.delete(toHex(id))
    return row
  }
  const findKnown = async (id: Uint8Array, now: number): Promise<SessionRow | undefined> => {
    const row = known.get(toHex(id))
    if (!row) return find(id, now)
    const found = await Promise.race([find(id, now), pause(MAX_WAIT_MS, LATE, { ref: false })]).catch(
      (error: unknown) => {
        if (!isStoreFailure(error)) throw error
        return LATE
      },
    )
    if (found !== LATE) return found as SessionRow | undefined
    const { openedAfter, seenAfter } = toLimits(now)
    return row.createdAt > openedAfter && row.seenAt > seenAfter ? row : undefined
  }
  return { find, findKnown, forget: (id: Uint8Array) => known.delete(toHex(id)) }
}

export const toSessionId = ({ session }: Actor): Uint8Array => Buffer.from(session, 'hex')

const toActor = ({ id, account, role, method, confirmedAt }: SessionRow): Actor => ({
  name: account,
  role,
  session: toHex(id),
  method,
  confirmedAt,
})

const toSession = (row: SessionRow, required: RequiredRoles): Session => ({
  name: row.account,
  role: row.role,
  method: row.method,
  // Not from the account: its column is not bound.
  has_password: row.method !== 'sso',
  must_set_up: lacksFactor(row, required),
  idle_until: toTime(Math.min(row.seenAt + IDLE_MS, row.createdAt + LIFE_MS)),
  expires_at: toTime(row.createdAt + LIFE_MS),
  version: VERSION,
})

const toTime = (at: number) => new Date(at).toISOString()

/** Deletes ended sessions and expired invitations. */
export const deleteExpiredSessions = (table: AccountTable): Promise<void> => {
  const now = steadyNow()
  return table.deleteExpired({ ...toLimits(now), now })
}

/** So that a browser which was left open, or a stolen cookie, cannot take over accounts. */
const CONFIRMED_MS = 10 * MINUTE_MS

/** Whether the account proved who it is a few minutes ago. A token cannot do that. */
export const isConfirmed = ({ token, confirmedAt }: Actor): boolean =>
  token === undefined && (confirmedAt === undefined || steadyNow() - confirmedAt < CONFIRMED_MS)

/** The roles that must have a second factor. */
type RequiredRoles = readonly Role[] | 'off'

/** Whether a session was opened with the password alone although its role requires more. A token has no method. */
export const lacksFactor = (
  { role, method }: { readonly role: Role; readonly method?: SignInMethod },
  required: RequiredRoles,
): boolean => required !== 'off' && method === 'password' && required.includes(role)

/** Browsers that have signed in to an account before, each known by a signed token. Nothing is stored. */
type Devices = {
  readonly create: (name: string) => string
  /** The id of the browser; undefined when the token is not for this account. */
  readonly open: (name: string, token: string | undefined) => string | undefined
}

const ID_BYTES = 16
const TOKEN = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/

export function createDevices(key: () => KeyObject): Devices {
  const sign = (name: string, id: string) =>
    createHmac('sha256', key())
      .update(JSON.stringify(['device', name, id]))
      .digest()
  return {
    create: (name) => {
      const id = randomBytes(ID_BYTES).toString('base64url')
      return `${id}.${sign(name, id).toString('base64url')}`
    },
    open: (name, token = '') => {
      const [, id = '', signature = ''] = TOKEN.exec(token) ?? []
      const isSigned = timingSafeEqual(Buffer.from(signature.padEnd(43, 'A'), 'base64url'), sign(name, id))
      return isSigned && id !== '' ? id : undefined
    },
  }
}

/** The cookies of a browser after a sign-in. */
export type SessionTokens = { readonly session: string; readonly device: string }

const METHODS: Readonly<Record<SignInMethod, string | undefined>> = {
  password: undefined,
  code: 'with a code',
  recovery_code: 'with a recovery code',
  passkey: 'with a passkey',
  sso: 'with single sign-on',
}

type OpenDeps = { readonly audit: AuditLog; readonly sessions: Sessions; readonly devices: Devices }

type StartSession = (
  account: Pick<AccountRow, 'name' | 'password'>,
  details: SessionDetails & { readonly factor?: FactorUse },
  device?: string,
) => Promise<SessionTokens>

/** Opens a session for an account that has proved who it is. The browser keeps its device cookie, or gets one. */
export const createOpenSession =
  ({ audit, sessions, devices }: OpenDeps): StartSession =>
  async (account, { factor, ...details }, device = devices.create(account.name)) => {
    const detail = METHODS[details.method]
    const entry = { phase: 'signed_in', ...(detail !== undefined && { detail }) }
    const by = { audit, by: account.name }
    const session = await withAudit(by, entry, () => sessions.open(account, details, factor))
    return { session, device }
  }

const ID_LENGTH = 12

/** Open sessions of one account, or of all; the most recently used first. `own` is the session that asks. */
export async function listOpenSessions(
  { accounts }: { readonly accounts: AccountTable },
  account?: string,
  own?: Uint8Array,
): Promise<OpenSession[]> {
  const isOwn = ({ id }: SessionRow) => own !== undefined && Buffer.compare(id, own) === 0
  const rows = await accounts.listSessions(account, toLimits(steadyNow()))
  return rows.map((row) => toOpenSession(row, isOwn(row)))
}

/** Ends one session of an account. */
export async function endSession(deps: AccountDeps, account: string, id: string): Promise<void> {
  const { accounts } = deps.store
  const rows = await accounts.listSessions(account, toLimits(steadyNow()))
  const found = rows.find((row) => toId(row) === id)
  if (!found) throw unknownSessionError(id)
  const isDone = await withAudit(deps, { phase: 'sessions_ended', detail: `${account}, ${id}` }, () =>
    accounts.end(found.id),
  )
  if (!isDone) throw unknownSessionError(id)
}

/** Ends all sessions of an account but one. Resolves to their number. */
export async function endSessions(deps: AccountDeps, account: string, keep?: Uint8Array): Promise<number> {
  const { accounts } = deps.store
  if (!(await accounts.find(account))) throw new UserError('There is no account with this name.')
  const detail = keep === undefined ? account : `${account}, all others`
  return withAudit(deps, { phase: 'sessions_ended', detail }, () => accounts.endAll(account, keep))
}

/** The store identifies a session by the hash of its cookie. The start of that hash names it and gives no access. */
const toId = ({ id }: SessionRow) => Buffer.from(id).toString('hex').slice(0, ID_LENGTH)

const toOpenSession = (row: SessionRow, isOwn: boolean): OpenSession => ({
  id: toId(row),
  account: row.account,
  method: row.method,
  address: row.address ?? null,
  browser: row.browser ?? null,
  created_at: new Date(row.createdAt).toISOString(),
  seen_at: new Date(row.seenAt).toISOString(),
  is_own: isOwn,
})

/** The message repeats the id only if it is a valid one. */
const unknownSessionError = (id: string) =>
  new UserError(
    `There is no open session ${/^[0-9a-f]{12}$/.test(id) ? id : 'with this id'}. It has ended already.`,
  )

/** Looked for in this order: Edge and Opera also name Chrome, and Chrome also names Safari. */
const BROWSERS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

const SYSTEMS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

const find = (text: string, names: typeof BROWSERS) => names.find(([sign]) => sign.test(text))?.[1]

/** `Firefox on Linux`, from a User-Agent header. The header itself is not stored: its caller chooses the text. */
export function toBrowserName(userAgent: string | undefined): string | undefined {
  const text = userAgent ?? ''
  const [browser, system] = [find(text, BROWSERS), find(text, SYSTEMS)]
  return browser && system ? `${browser} on ${system}` : (browser ?? system)
}
