import { isCommandAuthor } from '../contract/command-author.ts'
import type { Role } from '../contract/role.ts'
import { UserError } from '../errors.ts'
import { type AccountRow, type InvitationRow, toAccount, toInvitation } from './account-rows.ts'
import type { Database } from './database.ts'
import { createPasskeyTable } from './passkey-table.ts'
import { createSessionTable, type SessionTable } from './session-table.ts'
import { createThrottleTable } from './throttle-table.ts'

export type NewPassword = {
  readonly name: string
  readonly before: string
  readonly after: string
  /** The one session that is kept. */
  readonly keep: Uint8Array
}

/** Accounts of the console, their sessions, and the one-time links that create an account or reset its password. */
export type AccountTable = SessionTable & {
  readonly find: (name: string) => Promise<AccountRow | undefined>
  /** In the order of creation. */
  readonly list: () => Promise<AccountRow[]>
  readonly hasAny: () => Promise<boolean>
  readonly findInvitation: (id: Uint8Array, now: number) => Promise<InvitationRow | undefined>
  /** Those that have not expired, oldest first. */
  readonly listInvitations: (now: number) => Promise<InvitationRow[]>
  /** False when it does not exist: it was used or voided before. */
  readonly voidInvitation: (id: Uint8Array) => Promise<boolean>
  /** Refused when its creator is no longer an owner. */
  readonly invite: (invitation: InvitationRow) => Promise<void>
  /** Creates the account and deletes the invitation, both or neither. False when it is void: of two at once, one wins. */
  readonly accept: (id: Uint8Array, account: AccountRow) => Promise<boolean>
  /** Sets the password of its account, ends the sessions of that account, and deletes all its reset links. */
  readonly acceptReset: (id: Uint8Array, password: string, now: number) => Promise<boolean>
  /** Also ends the other sessions and deletes reset links. False when the password was changed meanwhile. */
  readonly setPassword: (change: NewPassword) => Promise<boolean>
  /** `setRole` and `remove` end the sessions and delete the invitations that only an owner may create. Refused for the last owner. */
  readonly setRole: (name: string, role: Role) => Promise<void>
  readonly remove: (name: string) => Promise<void>
}

const ACCOUNT = 'name, role, password, created_at, last_seen_at'
const INVITATION = 'id, role, account, made_by, created_at, expires_at'
const END_ALL = 'DELETE FROM sessions WHERE account = $1'
const VOID_RESETS = 'DELETE FROM invitations WHERE account = $1'

export function createAccountTable(database: Database): AccountTable {
  const sessions = createSessionTable(database)
  const [throttle, passkeys] = [createThrottleTable(database), createPasskeyTable(database)]
  return {
    ...sessions,
    ...createReads(database),
    ...createAccountWrites(database),
    forget: async (limits) => {
      await sessions.forget(limits)
      await throttle.forget(limits.now)
      await passkeys.forget(limits.now)
    },
  }
}

function createReads(database: Database) {
  const find = database.prepare(`SELECT ${ACCOUNT} FROM accounts WHERE name = $1`)
  const list = database.prepare(`SELECT ${ACCOUNT} FROM accounts ORDER BY created_at, name`)
  const any = database.prepare('SELECT name FROM accounts LIMIT 1')
  const invitation = database.prepare(
    `SELECT ${INVITATION} FROM invitations WHERE id = $1 AND expires_at > $2`,
  )
  const open = database.prepare(
    `SELECT ${INVITATION} FROM invitations WHERE expires_at > $1 ORDER BY created_at, id`,
  )
  return {
    find: async (name: string) => toAccount(await find.get(name)),
    list: async () => (await list.all()).flatMap((row) => toAccount(row) ?? []),
    hasAny: async () => (await any.get()) !== undefined,
    findInvitation: async (id: Uint8Array, now: number) => toInvitation(await invitation.get(id, now)),
    listInvitations: async (now: number) => (await open.all(now)).flatMap((row) => toInvitation(row) ?? []),
  }
}

function createAccountWrites(database: Database) {
  return {
    invite: ({ id, role, account, madeBy, createdAt, expiresAt }: InvitationRow) =>
      database.transaction(async (inside) => {
        await refuseFormerOwner(inside, madeBy)
        await inside
          .prepare(`INSERT INTO invitations (${INVITATION}) VALUES ($1, $2, $3, $4, $5, $6)`)
          .run(id, role, account ?? null, madeBy, createdAt, expiresAt)
      }),
    voidInvitation: async (id: Uint8Array) =>
      (await database.prepare('DELETE FROM invitations WHERE id = $1').run(id)) > 0,
    accept: (id: Uint8Array, account: AccountRow) =>
      database.transaction((inside) => acceptInside(inside, id, account)),
    acceptReset: (id: Uint8Array, password: string, now: number) =>
      database.transaction((inside) => acceptResetInside(inside, id, password, now)),
    setPassword: ({ name, before, after, keep }: NewPassword) =>
      database.transaction(async (inside) => {
        const changed = await inside
          .prepare('UPDATE accounts SET password = $1 WHERE name = $2 AND password = $3')
          .run(after, name, before)
        if (changed === 0) return false
        await inside.prepare(`${END_ALL} AND id <> $2`).run(name, keep)
        await inside.prepare(VOID_RESETS).run(name)
        return true
      }),
    setRole: (name: string, role: Role) =>
      database.transaction(async (inside) => {
        if (role !== 'owner') await refuseLastOwner(inside, name)
        const changed = await inside.prepare('UPDATE accounts SET role = $1 WHERE name = $2').run(role, name)
        if (changed === 0) throw toMissingAccount(name)
        await inside.prepare(END_ALL).run(name)
        if (role !== 'owner') await inside.prepare('DELETE FROM invitations WHERE made_by = $1').run(name)
      }),
    remove: (name: string) =>
      database.transaction(async (inside) => {
        await refuseLastOwner(inside, name)
        if ((await inside.prepare('DELETE FROM accounts WHERE name = $1').run(name)) === 0)
          throw toMissingAccount(name)
        await inside.prepare(END_ALL).run(name)
        await inside.prepare('DELETE FROM invitations WHERE made_by = $1 OR account = $1').run(name)
      }),
  }
}

async function acceptInside(inside: Database, id: Uint8Array, account: AccountRow): Promise<boolean> {
  const used = await inside
    .prepare('DELETE FROM invitations WHERE id = $1 AND expires_at > $2 AND account IS NULL AND role = $3')
    .run(id, account.createdAt, account.role)
  if (used === 0) return false
  const made = await inside
    .prepare(`INSERT INTO accounts (${ACCOUNT}) VALUES ($1, $2, $3, $4, NULL) ON CONFLICT (name) DO NOTHING`)
    .run(account.name, account.role, account.password, account.createdAt)
  // The rollback keeps the invitation, so it can be used with another name.
  if (made === 0) throw new UserError(`The account ${account.name} already exists. Choose another name.`)
  return true
}

async function acceptResetInside(
  inside: Database,
  id: Uint8Array,
  password: string,
  now: number,
): Promise<boolean> {
  await inside.lock('people')
  const row = await inside
    .prepare('SELECT account FROM invitations WHERE id = $1 AND expires_at > $2 AND account IS NOT NULL')
    .get(id, now)
  if (!row) return false
  const name = String(row.account)
  await inside.prepare('UPDATE accounts SET password = $1 WHERE name = $2').run(password, name)
  await inside.prepare(VOID_RESETS).run(name)
  await inside.prepare(END_ALL).run(name)
  return true
}

const toMissingAccount = (name: string) => new UserError(`There is no account ${name}.`)

/** Removing an owner deletes their invitations; the lock covers one that is being created at the same moment. */
async function refuseFormerOwner(inside: Database, name: string): Promise<void> {
  if (isCommandAuthor(name)) return
  await inside.lock('people')
  const owner = await inside.prepare("SELECT name FROM accounts WHERE role = 'owner' AND name = $1").get(name)
  if (!owner) throw new UserError('Only an owner may create a one-time link.')
}

/** If two owners demote each other at once, the second waits for the lock and is then refused as the last owner. */
async function refuseLastOwner(inside: Database, name: string): Promise<void> {
  await inside.lock('people')
  const others = await inside
    .prepare("SELECT name FROM accounts WHERE role = 'owner' AND name <> $1 LIMIT 1")
    .get(name)
  if (others) return
  const own = await inside.prepare("SELECT name FROM accounts WHERE role = 'owner' AND name = $1").get(name)
  if (own) throw new UserError(`${name} is the last owner. Give another account the role owner first.`)
}
