import type { Mode, Scope } from '../contract/scope.ts'
import type { Database, Row, Value } from '../database/database.ts'
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
import { UserError } from '../errors.ts'
import { listOptions, type OptionValues, readOptions } from './options.ts'

const KEY = defineColumns({
  id: text(),
  mode: text<Mode>(),
  name: text(),
  hash: bytes(),
  scopes: list<Scope>(),
  createdAt: number(),
  expiresAt: optional(number()),
  /** The lifetime that was last given to it. Undefined: it has none. */
  lifetimeMs: optional(number()),
  revokedAt: optional(number()),
  rolledTo: optional(text()),
  /** Id of the first key of its lineage: a key and the keys it was rolled from share their counters. */
  lineage: text(),
})

type Stored = RowOf<typeof KEY>

export type KeyRow = OptionValues & Omit<Stored, 'lifetimeMs'> & Partial<Pick<Stored, 'lifetimeMs'>>

const KEY_COLUMNS = [KEY.names, ...listOptions().map(([field]) => field)].join(', ')
export const KEY_COLUMN_NAMES = KEY_COLUMNS.split(', ')

/** In the order of the columns. */
export const toKeyValues = (row: KeyRow): Value[] => [
  ...KEY.encode({ lifetimeMs: undefined, ...row }),
  ...listOptions().map(([, { property, toColumn }]) => toColumn(row[property])),
]

export const toKeyRow = (row: Row): KeyRow => ({
  ...KEY.decode({ ...row, lineage: row.lineage ?? row.id }),
  ...readOptions(row),
})

/** Column values for an unknown id, so that the response time does not tell which ids exist. */
const IF_MISSING: Readonly<Record<string, string>> = {
  // No id that could be asked for.
  id: "'-' || question.wanted",
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

export const keyTable = defineTable({
  reads: (database) => {
    const find = database.prepare(FIND)
    const listAll = database.prepare(`SELECT ${KEY_COLUMNS} FROM api_keys ORDER BY created_at, id`)
    const nextExpiry = database.prepare(NEXT_EXPIRY)
    return {
      find: async (id: string) => {
        const row = toKeyRow((await find.get(id, NO_HASH)) as Row)
        return row.id === id ? row : undefined
      },
      list: async () => (await listAll.all()).map(toKeyRow),
      /** The earliest expiry after `now` of a live key that is neither revoked nor rolled. */
      findNextExpiry: async (now: number) => optional(number()).decode((await nextExpiry.get(now))?.at),
    }
  },
  writes: (database) => ({
    insert: (row: KeyRow) => insertKey(database, row),
    /** Writes all options of `after`. False when the stored key is no longer `before`: of two changes at once, one wins. */
    change: (before: KeyRow, after: KeyRow) => database.transaction((tx) => changeKey(tx, before, after)),
    /** False when the key does not exist or was revoked before. */
    revoke: async (id: string, at: number) => (await database.prepare(REVOKE).run(id, at)) > 0,
    /**
     * Adds the successor and sets the expiry of the old key to `oldEndsAt`, never later than before; both or neither. Refused
     * when the stored key is no longer `before`: of two at once, one wins, and the successor has the options of the last change.
     */
    roll: (before: KeyRow, successor: KeyRow, oldEndsAt: number) =>
      database.transaction(async (tx) => {
        const isSame = await isUnchanged(tx, before)
        if (!isSame || (await tx.prepare(END_OLD_KEY).run(before.id, oldEndsAt, successor.id)) === 0)
          throw new UserError(
            'The key was changed, rolled or revoked meanwhile, so nothing was changed. See: tabbat keys list',
          )
        await insertKey(tx, successor)
      }),
  }),
})
export type KeyTable = TableOf<typeof keyTable>

const REVOKE = 'UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL'

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
