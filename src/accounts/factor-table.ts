import type { Database } from '../database/database.ts'
import {
  bytes,
  defineColumns,
  defineTable,
  number,
  type RowOf,
  type TableOf,
} from '../database/define-table.ts'
import { UserError } from '../errors.ts'
import {
  type AddedFactor,
  deleteCodes,
  finishRemoval,
  insertCodes,
  insertFirstCodes,
  type KeptSession,
  keepSession,
  lockAccount,
} from './factor-rows.ts'

const TOTP = defineColumns({
  sealed: bytes(),
  lastStep: number(),
  createdAt: number(),
})

/** The second factors of an account. */
export type FactorRow = {
  /** The secret of the authenticator app, and the last time step whose code was used. */
  readonly totp: RowOf<typeof TOTP> | undefined
  readonly passkeys: number
  readonly recoveryCodes: number
}

type NewTotp = KeptSession & {
  readonly account: string
  readonly sealed: Uint8Array
  readonly step: number
  readonly at: number
  /** Stored if the account has none yet. */
  readonly recoveryHashes: readonly string[]
}

/** Second factors of the accounts of the console. */
export const factorTable = defineTable({
  reads: (database) => {
    const totp = database.prepare(`SELECT ${TOTP.names} FROM totp_secrets WHERE account = $1`)
    const passkeys = database.prepare('SELECT COUNT(*) AS count FROM passkeys WHERE account = $1')
    const codes = database.prepare('SELECT COUNT(*) AS count FROM recovery_codes WHERE account = $1')
    const code = database.prepare('SELECT hash FROM recovery_codes WHERE account = $1 AND hash = $2')
    const accounts = database.prepare('SELECT account FROM totp_secrets UNION SELECT account FROM passkeys')
    return {
      find: async (account: string): Promise<FactorRow> => ({
        totp: TOTP.decode(await totp.get(account)),
        passkeys: Number((await passkeys.get(account))?.count),
        recoveryCodes: Number((await codes.get(account))?.count),
      }),
      /** The accounts that have a second factor. */
      listAccounts: async (): Promise<ReadonlySet<string>> =>
        new Set((await accounts.all()).map(({ account }) => String(account))),
      /** Whether it is a recovery code that was not used. Opening a session, or a new password, uses it up. */
      hasRecoveryCode: async (account: string, hash: string) => (await code.get(account, hash)) !== undefined,
    }
  },
  writes: (database) => ({
    /** Refused if the account has one already. */
    addTotp: (added: NewTotp) => database.transaction((tx) => addTotp(tx, added)),
    replaceRecoveryCodes: (account: string, hashes: readonly string[]) =>
      database.transaction(async (tx) => {
        await lockAccount(tx, account)
        await deleteCodes(tx, account)
        await insertCodes(tx, account, hashes)
      }),
    /** With the last factor, the recovery codes are deleted too; refused if one `isRequired`. False when there is none. */
    removeTotp: (account: string, isRequired: boolean) =>
      database.transaction(async (tx) => {
        await lockAccount(tx, account)
        const removed = await tx.prepare('DELETE FROM totp_secrets WHERE account = $1').run(account)
        if (removed > 0) await finishRemoval(tx, account, isRequired)
        return removed > 0
      }),
    /** Deletes all factors and ends all sessions. False when there was no factor. */
    reset: (account: string) =>
      database.transaction(async (tx) => {
        await lockAccount(tx, account)
        const secrets = await tx.prepare('DELETE FROM totp_secrets WHERE account = $1').run(account)
        const removed = secrets + (await tx.prepare('DELETE FROM passkeys WHERE account = $1').run(account))
        await deleteCodes(tx, account)
        if (removed > 0) await tx.prepare('DELETE FROM sessions WHERE account = $1').run(account)
        return removed > 0
      }),
  }),
})
export type FactorTable = TableOf<typeof factorTable>

async function addTotp(tx: Database, added: NewTotp): Promise<AddedFactor> {
  const { account, sealed, step, at, recoveryHashes } = added
  await lockAccount(tx, account)
  const inserted = await tx
    .prepare(
      'INSERT INTO totp_secrets (account, sealed, last_step, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (account) DO NOTHING',
    )
    .run(account, sealed, step, at)
  if (inserted === 0) throw new UserError('This account has an authenticator app already. Remove it first.')
  await keepSession(tx, account, added, 'code')
  return insertFirstCodes(tx, account, recoveryHashes)
}
