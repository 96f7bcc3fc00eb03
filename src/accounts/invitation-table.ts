import { isCommandAuthor } from '../contract/free-text.ts'
import type { Database } from '../database/database.ts'
import { UserError } from '../errors.ts'
import { type AccountRow, type InvitationRow, toInvitation } from './account-rows.ts'
import { type FactorUse, hasFactor, lockAccount, useFactor } from './factor-rows.ts'

type PasswordReset = {
  readonly password: string
  readonly now: number
  /** The code of the second factor, which is used up with this. */
  readonly factor?: FactorUse | undefined
}

/** One-time links that create an account of the console or reset its password. */
export type InvitationTable = {
  readonly findInvitation: (id: Uint8Array, now: number) => Promise<InvitationRow | undefined>
  /** Those that have not expired, oldest first. */
  readonly listInvitations: (now: number) => Promise<InvitationRow[]>
  /** False when it does not exist: it was used or voided before. */
  readonly voidInvitation: (id: Uint8Array) => Promise<boolean>
  /** Refused when its creator is no longer an owner. */
  readonly invite: (invitation: InvitationRow) => Promise<void>
  /** Creates the account and deletes the invitation, both or neither. False when it is void: of two at once, one wins. */
  readonly accept: (id: Uint8Array, account: AccountRow) => Promise<boolean>
  /**
   * Sets the password of its account, ends the sessions of that account, and deletes all its reset links. Resolves to
   * why nothing was changed: the link is void, the code was used meanwhile, or a second factor was added meanwhile.
   */
  readonly acceptReset: (
    id: Uint8Array,
    reset: PasswordReset,
  ) => Promise<'invitation_void' | 'wrong_code' | 'second_factor_needed' | undefined>
}

const COLUMNS = 'id, role, account, made_by, created_at, expires_at'

export function createInvitationTable(database: Database): InvitationTable {
  const find = database.prepare(`SELECT ${COLUMNS} FROM invitations WHERE id = $1 AND expires_at > $2`)
  const list = database.prepare(
    `SELECT ${COLUMNS} FROM invitations WHERE expires_at > $1 ORDER BY created_at, id`,
  )
  return {
    findInvitation: async (id, now) => toInvitation(await find.get(id, now)),
    listInvitations: async (now) => (await list.all(now)).flatMap((row) => toInvitation(row) ?? []),
    invite: ({ id, role, account, madeBy, createdAt, expiresAt }) =>
      database.transaction(async (tx) => {
        await refuseFormerOwner(tx, madeBy)
        await tx
          .prepare(`INSERT INTO invitations (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)`)
          .run(id, role, account ?? null, madeBy, createdAt, expiresAt)
      }),
    voidInvitation: async (id) =>
      (await database.prepare('DELETE FROM invitations WHERE id = $1').run(id)) > 0,
    accept: (id, account) => database.transaction((tx) => acceptInTx(tx, id, account)),
    acceptReset: (id, reset) => database.transaction((tx) => acceptResetInTx(tx, id, reset)),
  }
}

async function acceptInTx(tx: Database, id: Uint8Array, account: AccountRow): Promise<boolean> {
  const used = await tx
    .prepare('DELETE FROM invitations WHERE id = $1 AND expires_at > $2 AND account IS NULL AND role = $3')
    .run(id, account.createdAt, account.role)
  if (used === 0) return false
  const made = await tx
    .prepare(`INSERT INTO accounts (name, role, password, created_at, last_seen_at) VALUES ($1, $2, $3, $4, NULL)
       ON CONFLICT (name) DO NOTHING`)
    .run(account.name, account.role, account.password, account.createdAt)
  // The rollback keeps the invitation, so it can be used with another name.
  if (made === 0) throw new UserError(`The account ${account.name} already exists. Choose another name.`)
  return true
}

async function acceptResetInTx(tx: Database, id: Uint8Array, { password, now, factor }: PasswordReset) {
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
  await tx.prepare('DELETE FROM sessions WHERE account = $1').run(name)
  return undefined
}

export const voidResets = (tx: Database, account: string): Promise<number> =>
  tx.prepare('DELETE FROM invitations WHERE account = $1').run(account)

/** Removing an owner deletes their invitations; the lock covers one that is being created at the same moment. */
async function refuseFormerOwner(tx: Database, name: string): Promise<void> {
  if (isCommandAuthor(name)) return
  await tx.lock('people')
  const owner = await tx.prepare("SELECT name FROM accounts WHERE role = 'owner' AND name = $1").get(name)
  if (!owner) throw new UserError('Only an owner may create a one-time link.')
}
