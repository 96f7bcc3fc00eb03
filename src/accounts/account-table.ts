import { isCommandAuthor } from '../contract/free-text.ts'
import type { Role, SignInMethod } from '../contract/role.ts'
import type { Database } from '../database/database.ts'
import {
  bytes,
  defineColumns,
  defineTable,
  number,
  optional,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { UserError } from '../errors.ts'
import { noteRemoval } from '../ledger/removal-table.ts'
import { type FactorUse, hasFactor, lockAccount, useFactor } from './factor-rows.ts'

const ACCOUNT = defineColumns({
  name: text(),
  role: text<Role>(),
  /** The hash and how it was made. */
  password: text(),
  createdAt: number(),
  lastSeenAt: optional(number()),
})
export type AccountRow = RowOf<typeof ACCOUNT>

const SESSION = defineColumns({
  id: bytes(),
  account: text(),
  role: text<Role>(),
  createdAt: number(),
  seenAt: number(),
  /** When its account last proved who it is: at the sign-in, or later. */
  confirmedAt: number(),
  method: text<SignInMethod>(),
  address: optional(text()),
  /** Such as `Firefox on Linux`. */
  browser: optional(text()),
  /** Keyed hashes: of the account and the method, and of the time of the last proof. Absent if 0.3.0 opened the session. */
  mac: optional(bytes()),
  confirmedMac: optional(bytes()),
})
/** A session that has not ended, with the present role of its account. */
export type SessionRow = RowOf<typeof SESSION>
/** What binds a session to its account and to the time of its last proof: see sessions.ts. */
export type SessionMacs = { readonly mac: Uint8Array; readonly confirmedMac: Uint8Array }
export type SessionDetails = Pick<SessionRow, 'method' | 'address' | 'browser'> & {
  /** If that was not when the session was opened. */
  readonly confirmedAt?: number
}

const INVITATION = defineColumns({
  id: bytes(),
  role: text<Role>(),
  /** The account whose password it resets; undefined when it creates an account. */
  account: optional(text()),
  madeBy: text(),
  createdAt: number(),
  expiresAt: number(),
  /** Keyed hash of the others. Absent if 0.3.0 made it. */
  mac: optional(bytes()),
})
export type InvitationRow = Omit<RowOf<typeof INVITATION>, 'mac'> & { readonly mac?: Uint8Array | undefined }

/** Sessions that were opened or last seen before these times have ended. */
type SessionLimits = { readonly openedAfter: number; readonly seenAfter: number }

type Opening = {
  readonly id: Uint8Array
  readonly account: string
  /** The hash that was compared. If the password was changed meanwhile, no session is opened. */
  readonly password: string
  readonly at: number
  readonly details?: SessionDetails
  /** The code of the second factor, which is used up with this. */
  readonly factor?: FactorUse | undefined
  readonly macs?: SessionMacs
}

type PasswordReset = Pick<Opening, 'password' | 'factor'> & { readonly now: number }

type NewPassword = {
  readonly name: string
  readonly before: string
  readonly after: string
  /** The one session that is kept. */
  readonly keep: Uint8Array
}

/** Accounts of the console, their sessions, and the one-time links that create an account or reset its password. */
export const accountTable = defineTable({
  reads: (database) => {
    const find = database.prepare(`SELECT ${ACCOUNT.names} FROM accounts WHERE name = $1`)
    const list = database.prepare(`SELECT ${ACCOUNT.names} FROM accounts ORDER BY created_at, name`)
    const any = database.prepare('SELECT name FROM accounts LIMIT 1')
    const findSession = database.prepare(`${SELECT_SESSIONS} WHERE id = $1 AND ${IS_OPEN}`)
    const listSessions = database.prepare(
      `${SELECT_SESSIONS} WHERE (CAST($1 AS TEXT) IS NULL OR account = $1) AND ${IS_OPEN} ORDER BY seen_at DESC, id`,
    )
    const findInvitation = database.prepare(
      `SELECT ${INVITATION.names} FROM invitations WHERE id = $1 AND expires_at > $2`,
    )
    const listInvitations = database.prepare(
      `SELECT ${INVITATION.names} FROM invitations WHERE expires_at > $1 ORDER BY created_at, id`,
    )
    return {
      find: async (name: string) => ACCOUNT.decode(await find.get(name)),
      /** In the order of creation. */
      list: async () => (await list.all()).map(ACCOUNT.decode),
      hasAny: async () => (await any.get()) !== undefined,
      findSession: async (id: Uint8Array, { openedAfter, seenAfter }: SessionLimits) =>
        SESSION.decode(await findSession.get(id, openedAfter, seenAfter)),
      /** Of one account, or of all. The most recently seen first. */
      listSessions: async (account: string | undefined, { openedAfter, seenAfter }: SessionLimits) =>
        (await listSessions.all(account ?? null, openedAfter, seenAfter)).map(SESSION.decode),
      findInvitation: async (id: Uint8Array, now: number) =>
        INVITATION.decode(await findInvitation.get(id, now)),
      /** Those that have not expired, oldest first. */
      listInvitations: async (now: number) => (await listInvitations.all(now)).map(INVITATION.decode),
    }
  },
  writes: (database) => ({
    ...createAccountWrites(database),
    ...createSessionWrites(database),
    ...createInvitationWrites(database),
  }),
})
export type AccountTable = TableOf<typeof accountTable>

const SELECT_SESSIONS = `SELECT id, account, role, sessions.created_at AS created_at, seen_at,
    COALESCE(confirmed_at, sessions.created_at) AS confirmed_at, COALESCE(method, 'password') AS method, address, browser,
    mac, confirmed_mac
  FROM sessions JOIN accounts ON accounts.name = sessions.account`
const IS_OPEN = 'sessions.created_at > $2 AND seen_at > $3'
const END_ALL = 'DELETE FROM sessions WHERE account = $1'

const createAccountWrites = (database: Database) => ({
  /** Also ends the other sessions and deletes reset links. False when the password was changed meanwhile. */
  setPassword: ({ name, before, after, keep }: NewPassword) =>
    database.transaction(async (tx) => {
      const changed = await tx
        .prepare('UPDATE accounts SET password = $1 WHERE name = $2 AND password = $3')
        .run(after, name, before)
      if (changed === 0) return false
      await tx.prepare(`${END_ALL} AND id <> $2`).run(name, keep)
      await voidResets(tx, name)
      return true
    }),
  /** `setRole` and `remove` end the sessions and delete the invitations that only an owner may create. Refused for the last owner. */
  setRole: (name: string, role: Role) =>
    database.transaction(async (tx) => {
      if (role !== 'owner') await refuseLastOwner(tx, name)
      const changed = await tx.prepare('UPDATE accounts SET role = $1 WHERE name = $2').run(role, name)
      if (changed === 0) throw missingAccountError(name)
      await tx.prepare(END_ALL).run(name)
      if (role !== 'owner') await tx.prepare('DELETE FROM invitations WHERE made_by = $1').run(name)
    }),
  remove: (name: string) =>
    database.transaction(async (tx) => {
      await refuseLastOwner(tx, name)
      await noteRemoval(tx, 'account', name)
      if ((await tx.prepare('DELETE FROM accounts WHERE name = $1').run(name)) === 0)
        throw missingAccountError(name)
      await tx.prepare(END_ALL).run(name)
      await tx.prepare('DELETE FROM invitations WHERE made_by = $1 OR account = $1').run(name)
    }),
})

const missingAccountError = (name: string) => new UserError(`There is no account ${name}.`)

/** If two owners demote each other at once, the second waits for the lock and is then refused as the last owner. */
async function refuseLastOwner(tx: Database, name: string): Promise<void> {
  await tx.lock('people')
  const others = await tx
    .prepare("SELECT name FROM accounts WHERE role = 'owner' AND name <> $1 LIMIT 1")
    .get(name)
  if (others) return
  if (await isOwner(tx, name))
    throw new UserError(`${name} is the last owner. Give another account the role owner first.`)
}

const isOwner = async (tx: Database, name: string) =>
  (await tx.prepare("SELECT name FROM accounts WHERE role = 'owner' AND name = $1").get(name)) !== undefined

const createSessionWrites = (database: Database) => ({
  /**
   * Resolves to why no session was opened. Meanwhile the password was changed, the code used, the passkey removed, or a second
   * factor added to an account that has shown its password only.
   */
  open: (opening: Opening) => database.transaction((tx) => openSession(tx, opening)),
  // The account row first, as in all transactions here: another order can deadlock.
  touch: (id: Uint8Array, at: number) =>
    database.transaction(async (tx) => {
      await tx
        .prepare(
          'UPDATE accounts SET last_seen_at = $1 WHERE name = (SELECT account FROM sessions WHERE id = $2)',
        )
        .run(at, id)
      await tx.prepare('UPDATE sessions SET seen_at = $1 WHERE id = $2 AND seen_at < $1').run(at, id)
    }),
  end: async (id: Uint8Array) => (await database.prepare('DELETE FROM sessions WHERE id = $1').run(id)) > 0,
  /** Ends all sessions of an account but one. Resolves to their number. */
  endAll: (account: string, keep: Uint8Array = new Uint8Array()) =>
    database.prepare(`${END_ALL} AND id <> $2`).run(account, keep),
  /** The account has proved again who it is. */
  confirm: async (id: Uint8Array, at: number, mac: Uint8Array) =>
    (await database
      .prepare('UPDATE sessions SET confirmed_at = $1, confirmed_mac = $3 WHERE id = $2')
      .run(at, id, mac)) > 0,
  deleteExpired: ({ openedAfter, seenAfter, now }: SessionLimits & { readonly now: number }) =>
    database.transaction(async (tx) => {
      await tx
        .prepare('DELETE FROM sessions WHERE created_at <= $1 OR seen_at <= $2')
        .run(openedAfter, seenAfter)
      await tx.prepare('DELETE FROM invitations WHERE expires_at <= $1').run(now)
    }),
})

async function openSession(tx: Database, { id, account, password, at, details, factor, macs }: Opening) {
  const seen = await tx
    .prepare('UPDATE accounts SET last_seen_at = $1 WHERE name = $2 AND password = $3')
    .run(at, account, password)
  if (seen === 0) return 'wrong_password'
  if (factor && !(await useFactor(tx, account, factor)))
    return 'passkey' in factor ? 'wrong_passkey' : 'wrong_code'
  const { method = 'password', address = null, browser = null, confirmedAt = at } = details ?? {}
  // The account row is locked now, as by those who add a factor.
  if (factor === undefined && method === 'password' && (await hasFactor(tx, account)))
    return 'second_factor_needed'
  await tx
    .prepare(
      `INSERT INTO sessions (id, account, created_at, seen_at, confirmed_at, method, address, browser, mac, confirmed_mac)
       VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9)`,
    )
    .run(
      id,
      account,
      at,
      confirmedAt,
      method,
      address,
      browser,
      macs?.mac ?? null,
      macs?.confirmedMac ?? null,
    )
  return undefined
}

const createInvitationWrites = (database: Database) => ({
  /** Refused when its creator is no longer an owner. */
  invite: (invitation: InvitationRow) =>
    database.transaction(async (tx) => {
      await refuseFormerOwner(tx, invitation.madeBy)
      await tx
        .prepare(`INSERT INTO invitations (${INVITATION.names}) VALUES (${INVITATION.places})`)
        .run(...INVITATION.encode({ mac: undefined, ...invitation }))
    }),
  /** False when it does not exist: it was used or voided before. */
  voidInvitation: async (id: Uint8Array) =>
    (await database.prepare('DELETE FROM invitations WHERE id = $1').run(id)) > 0,
  /** Creates the account and deletes the invitation, both or neither. False when it is void: of two at once, one wins. */
  accept: (id: Uint8Array, account: AccountRow) =>
    database.transaction((tx) => acceptInvitation(tx, id, account)),
  /**
   * Sets the password of its account, ends the sessions of that account, and deletes all its reset links. Resolves to
   * why nothing was changed: the link is void, the code was used meanwhile, or a second factor was added meanwhile.
   */
  acceptReset: (id: Uint8Array, reset: PasswordReset) =>
    database.transaction((tx) => acceptReset(tx, id, reset)),
})

async function acceptInvitation(tx: Database, id: Uint8Array, account: AccountRow): Promise<boolean> {
  const used = await tx
    .prepare('DELETE FROM invitations WHERE id = $1 AND expires_at > $2 AND account IS NULL AND role = $3')
    .run(id, account.createdAt, account.role)
  if (used === 0) return false
  const made = await tx
    .prepare(
      `INSERT INTO accounts (${ACCOUNT.names}) VALUES (${ACCOUNT.places}) ON CONFLICT (name) DO NOTHING`,
    )
    .run(...ACCOUNT.encode({ ...account, lastSeenAt: undefined }))
  // The rollback keeps the invitation, so it can be used with another name.
  if (made === 0) throw new UserError(`The account ${account.name} already exists. Choose another name.`)
  return true
}

async function acceptReset(tx: Database, id: Uint8Array, { password, now, factor }: PasswordReset) {
  await tx.lock('people')
  const row = await tx
    .prepare('SELECT account FROM invitations WHERE id = $1 AND expires_at > $2 AND account IS NOT NULL')
    .get(id, now)
  if (!row) return 'invitation_void'
  const name = String(row.account)
  await lockAccount(tx, name)
  if (factor === undefined && (await hasFactor(tx, name))) return 'second_factor_needed'
  if (factor && !(await useFactor(tx, name, factor))) return 'wrong_code'
  await tx.prepare('UPDATE accounts SET password = $1 WHERE name = $2').run(password, name)
  await voidResets(tx, name)
  await tx.prepare(END_ALL).run(name)
  return undefined
}

const voidResets = (tx: Database, account: string) =>
  tx.prepare('DELETE FROM invitations WHERE account = $1').run(account)

/** Removing an owner deletes their invitations; the lock covers one that is being created at the same moment. */
async function refuseFormerOwner(tx: Database, name: string): Promise<void> {
  if (isCommandAuthor(name)) return
  await tx.lock('people')
  if (!(await isOwner(tx, name))) throw new UserError('Only an owner may create a one-time link.')
}
