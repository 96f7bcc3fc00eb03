import { UserError } from '../errors.ts'
import type { Database } from './database.ts'
import { createMetaTable, type Meta } from './meta-table.ts'

/** The tables whose rows are sealed, and the column that names a row: a rotation seals anew what stands here. */
export const SEALED_TABLES = { registry: 'subject', media: 'id' } as const
export type SealedTable = keyof typeof SEALED_TABLES

export type SealedRow = {
  readonly id: Uint8Array
  readonly keyVersion: number
  readonly sealed: Uint8Array
}

/** What a rotation of the root key asks of the database. */
export type RotationTable = {
  /** Makes the successor known. From here on nothing is saved that was sealed under an older version. */
  readonly begin: (facts: Meta) => Promise<void>
  /** Rows that are sealed under a version before this one, in the order of their ids. */
  readonly next: (
    table: SealedTable,
    version: number,
    after: Uint8Array,
    most: number,
  ) => Promise<SealedRow[]>
  /** Puts rows in place that were sealed anew as `version`, save those that were changed or erased meanwhile. */
  readonly replace: (table: SealedTable, version: number, rows: readonly SealedRow[]) => Promise<number>
  /** How many rows are sealed under a version before this one. */
  readonly count: (table: SealedTable, version: number) => Promise<number>
  /** Forgets the predecessor. False, and nothing is changed, while a row still needs it. */
  readonly finish: (version: number) => Promise<boolean>
}

/** Held together by all who save sealed rows, and alone by who changes the version. */
const ROOT = 'root'

export function createRotationTable(database: Database): RotationTable {
  return {
    begin: (facts) =>
      database.transaction(async (inside) => {
        await inside.lock(ROOT)
        await createMetaTable(inside).set(facts)
      }),
    next: async (table, version, after, most) => {
      const id = SEALED_TABLES[table]
      const rows = await database
        .prepare(
          `SELECT ${id} AS id, key_version, sealed FROM ${table}
           WHERE key_version < $1 AND ${id} > $2 ORDER BY ${id} LIMIT $3`,
        )
        .all(version, after, most)
      return rows.map((row) => ({
        id: row.id as Uint8Array,
        keyVersion: Number(row.key_version),
        sealed: row.sealed as Uint8Array,
      }))
    },
    replace: (table, version, rows) =>
      database.transaction(async (inside) => {
        // An import that changes the same rows in another order waits here, instead of for ever.
        await inside.lock(ROOT)
        return inside.dialect === 'postgres'
          ? replaceInOneStatement(inside, table, version, rows)
          : replaceOneByOne(inside, table, version, rows)
      }),
    count: (table, version) => countStale(database, table, version),
    finish: (version) =>
      database.transaction(async (inside) => {
        await inside.lock(ROOT)
        for (const table of Object.keys(SEALED_TABLES) as SealedTable[])
          if ((await countStale(inside, table, version)) > 0) return false
        await createMetaTable(inside).set({ root_previous_fingerprint: undefined })
        return true
      }),
  }
}

/**
 * Inside the transaction that saves them: rows sealed under a root key that has had a successor since are refused, so a
 * rotation that has passed by leaves nothing behind.
 */
export async function refuseStaleSeals(
  inside: Database,
  rows: readonly { readonly keyVersion: number }[],
): Promise<void> {
  await inside.lock(ROOT, 'shared')
  const fact = await inside.prepare("SELECT value FROM meta WHERE name = 'root_version'").get()
  const version = Number(fact?.value ?? 1)
  if (rows.some(({ keyVersion }) => keyVersion !== version))
    throw new UserError('The root key was rotated while this ran. Run the command again: it carries on.')
}

async function countStale(database: Database, table: SealedTable, version: number): Promise<number> {
  const row = await database
    .prepare(`SELECT COUNT(*) AS stale FROM ${table} WHERE key_version < $1`)
    .get(version)
  return Number(row?.stale ?? 0)
}

async function replaceOneByOne(
  inside: Database,
  table: SealedTable,
  version: number,
  rows: readonly SealedRow[],
): Promise<number> {
  const statement = inside.prepare(
    `UPDATE ${table} SET key_version = $1, sealed = $2 WHERE ${SEALED_TABLES[table]} = $3 AND key_version < $1`,
  )
  const changes = await Promise.all(rows.map(({ id, sealed }) => statement.run(version, sealed, id)))
  return changes.reduce((sum, changed) => sum + changed, 0)
}

/** As in save-records.ts, all values travel as one binary parameter. */
async function replaceInOneStatement(
  inside: Database,
  table: SealedTable,
  version: number,
  rows: readonly SealedRow[],
): Promise<number> {
  const idBytes = rows[0]?.id.length ?? 0
  const lengths = rows.map(({ sealed }) => sealed.length)
  let next = 1
  const starts = lengths.map((length) => {
    const start = next
    next += idBytes + length
    return start
  })
  const statement = inside.prepare(
    `UPDATE ${table} SET key_version = $5, sealed = substring($1::bytea FROM start + $4::int FOR size)
     FROM unnest($2::int[], $3::int[]) AS cut(start, size)
     WHERE ${SEALED_TABLES[table]} = substring($1::bytea FROM start FOR $4::int) AND key_version < $5`,
  )
  const list = (numbers: readonly number[]) => `{${numbers.join(',')}}`
  const bytes = Buffer.concat(rows.flatMap(({ id, sealed }) => [id, sealed]))
  return statement.run(bytes, list(starts), list(lengths), idBytes, version)
}
