import { HOUR_MS } from '../contract/time.ts'
import type { Database, Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { deleteSome } from '../database/delete-some.ts'
import { UserError } from '../errors.ts'
import { type AddedFactor, finishRemoval, insertFirstCodes, keepSession, lockAccount } from './factor-rows.ts'

export type PasskeyRow = {
  /** The credential id of the authenticator. */
  readonly id: string
  readonly account: string
  /** Chosen by the user. */
  readonly name: string
  /** The host name of the console for which it was made. */
  readonly host: string
  readonly publicKey: Uint8Array
  /** How often the authenticator says that it was used; 0 if it does not count. */
  readonly counter: number
  readonly transports: readonly string[]
  readonly createdAt: number
  readonly lastUsedAt: number | undefined
}

type UsedChallenge = { readonly challenge: string; readonly expiresAt: number }

type NewPasskey = UsedChallenge & {
  readonly passkey: PasskeyRow
  /** Stored if the account has none yet. */
  readonly recoveryHashes: readonly string[]
  /** The session that has added it; the others end. */
  readonly session: Uint8Array
}

type PasskeyUse = UsedChallenge & {
  readonly id: string
  readonly counter: number
  readonly at: number
}

/** Passkeys of the accounts of the console. */
export type PasskeyTable = {
  readonly find: (id: string) => Promise<PasskeyRow | undefined>
  /** Of one account, oldest first. */
  readonly list: (account: string) => Promise<PasskeyRow[]>
  /** Undefined if the challenge was answered before. Refused if the passkey exists, or if there are 20. */
  readonly add: (added: NewPasskey) => Promise<AddedFactor | undefined>
  /** False if the challenge was answered before, or the counter has not grown: a copy of the passkey may exist. */
  readonly use: (use: PasskeyUse) => Promise<boolean>
  /** As `removeTotp`: the last second factor goes with the recovery codes, and stays if one `isRequired`. */
  readonly remove: (account: string, id: string, isRequired: boolean) => Promise<boolean>
  /** Deletes challenges that expired an hour ago, because the clocks of nodes differ. */
  readonly deleteExpired: (now: number) => Promise<number>
}

const COLUMNS = 'id, account, name, host, public_key, counter, transports, created_at, last_used_at'
const MOST_PER_ACCOUNT = 20

export function createPasskeyTable(database: Database): PasskeyTable {
  const find = database.prepare(`SELECT ${COLUMNS} FROM passkeys WHERE id = $1`)
  const list = database.prepare(`SELECT ${COLUMNS} FROM passkeys WHERE account = $1 ORDER BY created_at, id`)
  return {
    find: async (id) => toPasskey(await find.get(id)),
    list: async (account) => (await list.all(account)).flatMap((row) => toPasskey(row) ?? []),
    add: (added) => database.transaction((tx) => addInTx(tx, added)),
    use: (use) => database.transaction((tx) => useInTx(tx, use)),
    remove: (account, id, isRequired) =>
      database.transaction(async (tx) => {
        await lockAccount(tx, account)
        const removed = await tx
          .prepare('DELETE FROM passkeys WHERE account = $1 AND id = $2')
          .run(account, id)
        if (removed > 0) await finishRemoval(tx, account, isRequired)
        return removed > 0
      }),
    deleteExpired: (now) =>
      deleteSome(
        database,
        'used_challenges',
        `expires_at <= ${toSharedNow(database, '$1')} - ${HOUR_MS}`,
        now,
      ),
  }
}

const toPasskey = (row: Row | undefined): PasskeyRow | undefined =>
  row && {
    id: String(row.id),
    account: String(row.account),
    name: String(row.name),
    host: String(row.host),
    publicKey: row.public_key as Uint8Array,
    counter: Number(row.counter),
    transports: String(row.transports).split(',').filter(Boolean),
    createdAt: Number(row.created_at),
    lastUsedAt: row.last_used_at === null ? undefined : Number(row.last_used_at),
  }

async function addInTx(
  tx: Database,
  { passkey, recoveryHashes, session, ...challenge }: NewPasskey,
): Promise<AddedFactor | undefined> {
  const { id, account, name, host, publicKey, counter, transports, createdAt } = passkey
  await lockAccount(tx, account)
  if (!(await useChallenge(tx, challenge))) return undefined
  const row = await tx.prepare('SELECT COUNT(*) AS count FROM passkeys WHERE account = $1').get(account)
  if (Number(row?.count) >= MOST_PER_ACCOUNT)
    throw new UserError(`An account has at most ${MOST_PER_ACCOUNT} passkeys. Remove one first.`)
  const inserted = await tx
    .prepare(
      `INSERT INTO passkeys (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL) ON CONFLICT (id) DO NOTHING`,
    )
    .run(id, account, name, host, publicKey, counter, transports.join(','), createdAt)
  if (inserted === 0) throw new UserError('This passkey is in use already.')
  await keepSession(tx, account, session, 'passkey')
  return insertFirstCodes(tx, account, recoveryHashes)
}

/** False if it was answered before: of two answers at once, one wins. */
async function useChallenge(tx: Database, { challenge, expiresAt }: UsedChallenge): Promise<boolean> {
  const inserted = await tx
    .prepare('INSERT INTO used_challenges (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING')
    .run(challenge, expiresAt)
  return inserted > 0
}

async function useInTx(tx: Database, use: PasskeyUse): Promise<boolean> {
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
