import type { Role } from '../contract/role.ts'
import type { Database } from '../database/database.ts'
import { UserError } from '../errors.ts'
import { noteRemoval } from '../ledger/removal-table.ts'
import { type AccountRow, toAccount } from './account-rows.ts'
import { createInvitationTable, type InvitationTable, voidResets } from './invitation-table.ts'
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

/** Accounts of the console, their sessions, and their one-time links. */
export type AccountTable = SessionTable &
  InvitationTable & {
    readonly find: (name: string) => Promise<AccountRow | undefined>
    /** In the order of creation. */
    readonly list: () => Promise<AccountRow[]>
    readonly hasAny: () => Promise<boolean>
    /** Also ends the other sessions and deletes reset links. False when the password was changed meanwhile. */
    readonly setPassword: (change: NewPassword) => Promise<boolean>
    /** `setRole` and `remove` end the sessions and delete the invitations that only an owner may create. Refused for the last owner. */
    readonly setRole: (name: string, role: Role) => Promise<void>
    readonly remove: (name: string) => Promise<void>
  }

const ACCOUNT = 'name, role, password, created_at, last_seen_at'
const END_ALL = 'DELETE FROM sessions WHERE account = $1'

export function createAccountTable(database: Database): AccountTable {
  const sessions = createSessionTable(database)
  const [throttle, passkeys] = [createThrottleTable(database), createPasskeyTable(database)]
  return {
    ...sessions,
    ...createInvitationTable(database),
    ...createReads(database),
    ...createAccountWrites(database),
    deleteExpired: async (limits) => {
      await sessions.deleteExpired(limits)
      await throttle.deleteExpired(limits.now)
      await passkeys.deleteExpired(limits.now)
    },
  }
}

function createReads(database: Database) {
  const find = database.prepare(`SELECT ${ACCOUNT} FROM accounts WHERE name = $1`)
  const list = database.prepare(`SELECT ${ACCOUNT} FROM accounts ORDER BY created_at, name`)
  const any = database.prepare('SELECT name FROM accounts LIMIT 1')
  return {
    find: async (name: string) => toAccount(await find.get(name)),
    list: async () => (await list.all()).flatMap((row) => toAccount(row) ?? []),
    hasAny: async () => (await any.get()) !== undefined,
  }
}

function createAccountWrites(database: Database) {
  return {
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
    setRole: (name: string, role: Role) =>
      database.transaction(async (tx) => {
        if (role !== 'owner') await refuseLastOwner(tx, name)
        const changed = await tx.prepare('UPDATE accounts SET role = $1 WHERE name = $2').run(role, name)
        if (changed === 0) throw toMissingAccount(name)
        await tx.prepare(END_ALL).run(name)
        if (role !== 'owner') await tx.prepare('DELETE FROM invitations WHERE made_by = $1').run(name)
      }),
    remove: (name: string) =>
      database.transaction(async (tx) => {
        await refuseLastOwner(tx, name)
        await noteRemoval(tx, 'account', name)
        if ((await tx.prepare('DELETE FROM accounts WHERE name = $1').run(name)) === 0)
          throw toMissingAccount(name)
        await tx.prepare(END_ALL).run(name)
        await tx.prepare('DELETE FROM invitations WHERE made_by = $1 OR account = $1').run(name)
      }),
  }
}

const toMissingAccount = (name: string) => new UserError(`There is no account ${name}.`)

/** If two owners demote each other at once, the second waits for the lock and is then refused as the last owner. */
async function refuseLastOwner(tx: Database, name: string): Promise<void> {
  await tx.lock('people')
  const others = await tx
    .prepare("SELECT name FROM accounts WHERE role = 'owner' AND name <> $1 LIMIT 1")
    .get(name)
  if (others) return
  const own = await tx.prepare("SELECT name FROM accounts WHERE role = 'owner' AND name = $1").get(name)
  if (own) throw new UserError(`${name} is the last owner. Give another account the role owner first.`)
}
