import type { Database, Row } from '../database/database.ts'
import { UserError } from '../errors.ts'
import {
  KEY_COLUMN_NAMES,
  KEY_COLUMNS,
  type KeyRow,
  toKeyRow,
  toKeyValues,
  toOptionalNumber,
} from './key-rows.ts'

export type KeyTable = {
  readonly insert: (row: KeyRow) => Promise<void>
  readonly find: (id: string) => Promise<KeyRow | undefined>
  readonly list: () => Promise<KeyRow[]>
  /** The earliest expiry after `now` of a live key that is neither revoked nor rolled. */
  readonly findNextExpiry: (now: number) => Promise<number | undefined>
  /** Writes all options of `after`. False when the stored key is no longer `before`: of two changes at once, one wins. */
  readonly change: (before: KeyRow, after: KeyRow) => Promise<boolean>
  /** False when the key does not exist or was revoked before. */
  readonly revoke: (id: string, at: number) => Promise<boolean>
  /**
   * Adds the successor and sets the expiry of the old key to `oldEndsAt`, never later than before; both or neither. Refused
   * when the stored key is no longer `before`: of two at once, one wins, and the successor has the options of the last change.
   */
  readonly roll: (before: KeyRow, successor: KeyRow, oldEndsAt: number) => Promise<void>
}

/** Column values for an unknown id, so that the response time does not tell which ids exist. */
const IF_MISSING: Readonly<Record<string, string>> = {
  id: "'--------'",
  // A key that was not rolled from another has no lineage but its own id.
  lineage: "api_keys.id, '--------'",
  mode: "'live'",
  name: "'there is no such key'",
  hash: '$2',
  scopes: "'kyc:nin,kyc:bvn,catalogue:read'",
  created_at: '0',
}
const NO_HASH = Buffer.alloc(32)

/** Returns one row with the same columns, whether the id exists or not. */
const FIND = `SELECT ${KEY_COLUMN_NAMES.map((name) =>
  name in IF_MISSING
    ? `COALESCE(api_keys.${name}, ${IF_MISSING[name]}) AS ${name}`
    : `api_keys.${name} AS ${name}`,
).join(', ')}
  FROM (SELECT CAST($1 AS TEXT) AS wanted) AS question LEFT JOIN api_keys ON api_keys.id = question.wanted`

export function createKeyTable(database: Database): KeyTable {
  const find = database.prepare(FIND)
  const list = database.prepare(`SELECT ${KEY_COLUMNS} FROM api_keys ORDER BY created_at, id`)
  const nextExpiry = database.prepare(NEXT_EXPIRY)
  const revoke = database.prepare('UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL')
  return {
    insert: (row) => insertKey(database, row),
    find: async (id) => {
      const row = toKeyRow((await find.get(id, NO_HASH)) as Row)
      return row.id === id ? row : undefined
    },
    list: async () => (await list.all()).map(toKeyRow),
    findNextExpiry: async (now) => toOptionalNumber((await nextExpiry.get(now))?.at),
    change: (before, after) => database.transaction((tx) => changeKey(tx, before, after)),
    revoke: async (id, at) => (await revoke.run(id, at)) > 0,
    roll: (before, successor, oldEndsAt) =>
      database.transaction(async (tx) => {
        const isSame = await isUnchanged(tx, before)
        if (!isSame || (await tx.prepare(END_OLD_KEY).run(before.id, oldEndsAt, successor.id)) === 0)
          throw new UserError(
            'The key was changed, rolled or revoked meanwhile, so nothing was changed. See: tabbat keys list',
          )
        await insertKey(tx, successor)
      }),
  }
}

const NEXT_EXPIRY = `SELECT MIN(expires_at) AS at FROM api_keys
  WHERE mode = 'live' AND revoked_at IS NULL AND rolled_to IS NULL AND expires_at > $1`

const END_OLD_KEY = `UPDATE api_keys SET rolled_to = $3,
    expires_at = CASE WHEN expires_at IS NULL OR expires_at > $2 THEN $2 ELSE expires_at END
  WHERE id = $1 AND rolled_to IS NULL AND revoked_at IS NULL`

const PLACES = KEY_COLUMN_NAMES.map((_name, index) => `$${index + 1}`)
const INSERT = `INSERT INTO api_keys (${KEY_COLUMNS}) VALUES (${PLACES.join(', ')})`
const REPLACE = `UPDATE api_keys SET ${KEY_COLUMN_NAMES.map((name, index) => `${name} = ${PLACES[index]}`).join(', ')} WHERE id = $1`

async function changeKey(tx: Database, before: KeyRow, after: KeyRow): Promise<boolean> {
  return (await isUnchanged(tx, before)) && (await tx.prepare(REPLACE).run(...toKeyValues(after))) > 0
}

/** The row stays locked until the commit, so a revocation at the same time is not undone. */
async function isUnchanged(tx: Database, before: KeyRow): Promise<boolean> {
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE' : ''
  const row = await tx.prepare(`SELECT ${KEY_COLUMNS} FROM api_keys WHERE id = $1 ${lock}`).get(before.id)
  return row !== undefined && toComparable(toKeyRow(row)) === toComparable(before)
}

const toComparable = (row: KeyRow) => JSON.stringify({ ...row, hash: undefined })

async function insertKey(database: Database, row: KeyRow): Promise<void> {
  await database.prepare(INSERT).run(...toKeyValues(row))
}
