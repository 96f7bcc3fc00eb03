import type { Database, Row } from '../database/database.ts'
import { UserError } from '../errors.ts'
import {
  type AddedFactor,
  deleteCodes,
  finishRemoval,
  insertCodes,
  insertFirstCodes,
  keepSession,
  lockAccount,
} from './factor-rows.ts'

/** The second factors of an account. */
export type FactorRow = {
  /** The secret of the authenticator app, and the last time step whose code was used. */
  readonly totp:
    | { readonly sealed: Uint8Array; readonly lastStep: number; readonly createdAt: number }
    | undefined
  readonly passkeys: number
  readonly recoveryCodes: number
}

type NewTotp = {
  readonly account: string
  readonly sealed: Uint8Array
  readonly step: number
  readonly at: number
  /** Stored if the account has none yet. */
  readonly recoveryHashes: readonly string[]
  /** The session that set it up. It has proved the code; the others end. */
  readonly session: Uint8Array
}

/** Second factors of the accounts of the console. */
export type FactorTable = {
  readonly find: (account: string) => Promise<FactorRow>
  /** The accounts that have a second factor. */
  readonly listAccounts: () => Promise<ReadonlySet<string>>
  /** Refused if the account has one already. */
  readonly addTotp: (totp: NewTotp) => Promise<AddedFactor>
  /** Whether it is a recovery code that was not used. Opening a session, or a new password, uses it up. */
  readonly hasRecoveryCode: (account: string, hash: string) => Promise<boolean>
  readonly replaceRecoveryCodes: (account: string, hashes: readonly string[]) => Promise<void>
  /** With the last factor, the recovery codes are deleted too; refused if one `isRequired`. False when there is none. */
  readonly removeTotp: (account: string, isRequired: boolean) => Promise<boolean>
  /** Deletes all factors and ends all sessions. False when there was no factor. */
  readonly reset: (account: string) => Promise<boolean>
}

export function createFactorTable(database: Database): FactorTable {
  const totp = database.prepare('SELECT sealed, last_step, created_at FROM totp_secrets WHERE account = $1')
  const passkeys = database.prepare('SELECT COUNT(*) AS count FROM passkeys WHERE account = $1')
  const codes = database.prepare('SELECT COUNT(*) AS count FROM recovery_codes WHERE account = $1')
  const code = database.prepare('SELECT hash FROM recovery_codes WHERE account = $1 AND hash = $2')
  const accounts = database.prepare('SELECT account FROM totp_secrets UNION SELECT account FROM passkeys')
  return {
    find: async (account) => ({
      totp: toTotp(await totp.get(account)),
      passkeys: Number((await passkeys.get(account))?.count),
      recoveryCodes: Number((await codes.get(account))?.count),
    }),
    listAccounts: async () => new Set((await accounts.all()).map(({ account }) => String(account))),
    addTotp: (added) => database.transaction((tx) => addTotpInTx(tx, added)),
    hasRecoveryCode: async (account, hash) => (await code.get(account, hash)) !== undefined,
    replaceRecoveryCodes: (account, hashes) =>
      database.transaction(async (tx) => {
        await lockAccount(tx, account)
        await deleteCodes(tx, account)
        await insertCodes(tx, account, hashes)
      }),
    removeTotp: (account, isRequired) =>
      database.transaction(async (tx) => {
        await lockAccount(tx, account)
        const removed = await tx.prepare('DELETE FROM totp_secrets WHERE account = $1').run(account)
        if (removed > 0) await finishRemoval(tx, account, isRequired)
        return removed > 0
      }),
    reset: (account) =>
      database.transaction(async (tx) => {
        await lockAccount(tx, account)
        const secrets = await tx.prepare('DELETE FROM totp_secrets WHERE account = $1').run(account)
        const removed = secrets + (await tx.prepare('DELETE FROM passkeys WHERE account = $1').run(account))
        await deleteCodes(tx, account)
        if (removed > 0) await tx.prepare('DELETE FROM sessions WHERE account = $1').run(account)
        return removed > 0
      }),
  }
}

const toTotp = (row: Row | undefined) =>
  row && {
    sealed: row.sealed as Uint8Array,
    lastStep: Number(row.last_step),
    createdAt: Number(row.created_at),
  }

async function addTotpInTx(tx: Database, added: NewTotp): Promise<AddedFactor> {
  const { account, sealed, step, at, recoveryHashes, session } = added
  await lockAccount(tx, account)
  const inserted = await tx
    .prepare(
      'INSERT INTO totp_secrets (account, sealed, last_step, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (account) DO NOTHING',
    )
    .run(account, sealed, step, at)
  if (inserted === 0) throw new UserError('This account has an authenticator app already. Remove it first.')
  await keepSession(tx, account, session, 'code')
  return insertFirstCodes(tx, account, recoveryHashes)
}
