import { HOUR_MS } from '../contract/time.ts'
import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import {
  bytes,
  defineColumns,
  defineTable,
  list,
  number,
  optional,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'
import { UserError } from '../errors.ts'
import {
  type AddedFactor,
  finishRemoval,
  insertFirstCodes,
  type KeptSession,
  keepSession,
  lockAccount,
} from './factor-rows.ts'

const PASSKEY = defineColumns({
  /** The credential id of the authenticator. */
  id: text(),
  account: text(),
  /** Chosen by the user. */
  name: text(),
  /** The host name of the console for which it was made. */
  host: text(),
  publicKey: bytes(),
  /** How often the authenticator says that it was used; 0 if it does not count. */
  counter: number(),
  transports: list(),
  createdAt: number(),
  lastUsedAt: optional(number()),
})
export type PasskeyRow = RowOf<typeof PASSKEY>

type UsedChallenge = { readonly challenge: string; readonly expiresAt: number }

type NewPasskey = UsedChallenge &
  KeptSession & {
    readonly passkey: PasskeyRow
    /** Stored if the account has none yet. */
    readonly recoveryHashes: readonly string[]
  }

type PasskeyUse = UsedChallenge & {
  readonly id: string
  readonly counter: number
  readonly at: number
}

const MAX_PER_ACCOUNT = 20

/** Passkeys of the accounts of the console. */
export const passkeyTable = defineTable({
  reads: (database) => {
    const find = database.prepare(`SELECT ${PASSKEY.names} FROM passkeys WHERE id = $1`)
    const ofAccount = database.prepare(
      `SELECT ${PASSKEY.names} FROM passkeys WHERE account = $1 ORDER BY created_at, id`,
    )
    return {
      find: async (id: string) => PASSKEY.decode(await find.get(id)),
      /** Of one account, oldest first. */
      list: async (account: string) => (await ofAccount.all(account)).map(PASSKEY.decode),
    }
  },
  writes: (database) => ({
    /** Undefined if the challenge was answered before. Refused if the passkey exists, or if there are 20. */
    add: (added: NewPasskey) => database.transaction((tx) => addPasskey(tx, added)),
    /** False if the challenge was answered before, or the counter has not grown: a copy of the passkey may exist. */
    use: (use: PasskeyUse) => database.transaction((tx) => usePasskey(tx, use)),
    /** As `removeTotp`: the last second factor goes with the recovery codes, and stays if one `isRequired`. */
    remove: (account: string, id: string, isRequired: boolean) =>
      database.transaction(async (tx) => {
        await lockAccount(tx, account)
        const removed = await tx
          .prepare('DELETE FROM passkeys WHERE account = $1 AND id = $2')
          .run(account, id)
        if (removed > 0) await finishRemoval(tx, account, isRequired)
        return removed > 0
      }),
    /** Deletes challenges that expired an hour ago, because the clocks of nodes differ. */
    deleteExpired: (now: number) =>
      deleteSome(
        database,
        'used_challenges',
        `expires_at <= ${toSharedNow(database, '$1')} - ${HOUR_MS}`,
        now,
      ),
  }),
})
export type PasskeyTable = TableOf<typeof passkeyTable>

async function addPasskey(
  tx: Database,
  { passkey, recoveryHashes, session, sessionMac, ...challenge }: NewPasskey,
): Promise<AddedFactor | undefined> {
  const { account } = passkey
  await lockAccount(tx, account)
  if (!(await useChallenge(tx, challenge))) return undefined
  const row = await tx.prepare('SELECT COUNT(*) AS count FROM passkeys WHERE account = $1').get(account)
  if (Number(row?.count) >= MAX_PER_ACCOUNT)
    throw new UserError(`An account has at most ${MAX_PER_ACCOUNT} passkeys. Remove one first.`)
  const inserted = await tx
    .prepare(`INSERT INTO passkeys (${PASSKEY.names}) VALUES (${PASSKEY.places}) ON CONFLICT (id) DO NOTHING`)
    .run(...PASSKEY.encode({ ...passkey, lastUsedAt: undefined }))
  if (inserted === 0) throw new UserError('This passkey is in use already.')
  await keepSession(tx, account, { session, sessionMac }, 'passkey')
  return insertFirstCodes(tx, account, recoveryHashes)
}

/** False if it was answered before: of two answers at once, one wins. */
async function useChallenge(tx: Database, { challenge, expiresAt }: UsedChallenge): Promise<boolean> {
  const inserted = await tx
    .prepare('INSERT INTO used_challenges (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING')
    .run(challenge, expiresAt)
  return inserted > 0
}

async function usePasskey(tx: Database, use: PasskeyUse): Promise<boolean> {
  const { id, counter, at } = use
  if (!(await useChallenge(tx, use))) return false
  const updated = await tx
    .prepare(
      `UPDATE passkeys SET counter = $2, last_used_at = $3
       WHERE id = $1 AND (counter < $2 OR (counter = 0 AND CAST($2 AS BIGINT) = 0))`,
    )
    .run(id, counter, at)
  return updated > 0
}
