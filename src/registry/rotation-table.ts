import type { Database } from '../database/database.ts'
import { defineTable, type Reader, type TableOf } from '../database/define-table.ts'
import { type Meta, metaTable } from '../database/meta-table.ts'
import { UserError } from '../errors.ts'

/** The tables with sealed rows, and their id columns. A rotation seals these rows again. */
const SEALED_TABLES = { registry: 'subject', media: 'id' } as const
export type SealedTable = keyof typeof SEALED_TABLES

export type SealedRow = {
  readonly id: Uint8Array
  readonly keyVersion: number
  readonly sealed: Uint8Array
  /** A row of the server's own, which is no record. */
  readonly isDecoy?: boolean
}

/** Lock: shared by transactions that save sealed rows, exclusive for those that change the version. */
const ROOT = 'root'

/** The queries of a root key rotation. */
export const rotationTable = defineTable({
  reads: (database) => ({
    /** Rows sealed under an older version, in the order of their ids. */
    next: async (
      table: SealedTable,
      version: number,
      after: Uint8Array,
      most: number,
    ): Promise<SealedRow[]> => {
      const id = SEALED_TABLES[table]
      const kind = table === 'registry' ? 'kind' : 'NULL'
      const rows = await database
        .prepare(
          `SELECT ${id} AS id, key_version, sealed, ${kind} AS kind FROM ${table}
           WHERE key_version < $1 AND ${id} > $2 ORDER BY ${id} LIMIT $3`,
        )
        .all(version, after, most)
      return rows.map((row) => ({
        id: row.id as Uint8Array,
        keyVersion: Number(row.key_version),
        sealed: row.sealed as Uint8Array,
        isDecoy: row.kind === 'decoy',
      }))
    },
    /** How many rows are sealed under an older version. */
    count: (table: SealedTable, version: number) => countStale(database, table, version),
  }),
  writes: (database) => {
    const lockRoot = <T>(work: (tx: Database) => Promise<T>) =>
      database.transaction(async (tx) => {
        await tx.lock(ROOT)
        return work(tx)
      })
    return {
      /** Stores the new version. From then on, rows sealed under an older version are refused. */
      begin: (facts: Meta) => lockRoot((tx) => metaTable.create(tx).set(facts)),
      /**
       * Replaces rows with their newly sealed values, except those that were changed or erased meanwhile. An import that changes
       * the same rows in another order waits for the lock instead of causing a deadlock.
       */
      replace: (table: SealedTable, version: number, rows: readonly SealedRow[]) =>
        lockRoot((tx) =>
          tx.dialect === 'postgres'
            ? replaceInOneStatement(tx, table, version, rows)
            : replaceOneByOne(tx, table, version, rows),
        ),
      /**
       * Removes the previous key from meta. Call it when `count` has found no row that needs it: since `begin`, none can be added.
       * It is not counted here: that reads whole tables, and this lock blocks all writers.
       */
      finish: () => lockRoot((tx) => metaTable.create(tx).set({ root_previous_fingerprint: undefined })),
    }
  },
})
export type RotationTable = TableOf<typeof rotationTable>

/**
 * Called in the transaction that saves sealed rows. Refuses rows sealed under an older root key, so that a rotation never
 * misses one.
 */
export async function refuseStaleSeals(
  tx: Database,
  rows: readonly { readonly keyVersion: number }[],
): Promise<void> {
  await tx.lock(ROOT, 'shared')
  const fact = await tx.prepare("SELECT value FROM meta WHERE name = 'root_version'").get()
  const version = Number(fact?.value ?? 1)
  if (rows.some(({ keyVersion }) => keyVersion !== version))
    throw new UserError(
      'The root key was rotated meanwhile. Run the command again: it continues where it stopped.',
    )
}

async function countStale(database: Reader, table: SealedTable, version: number): Promise<number> {
  const row = await database
    .prepare(`SELECT COUNT(*) AS stale FROM ${table} WHERE key_version < $1`)
    .get(version)
  return Number(row?.stale ?? 0)
}

async function replaceOneByOne(
  tx: Database,
  table: SealedTable,
  version: number,
  rows: readonly SealedRow[],
): Promise<number> {
  const statement = tx.prepare(
    `UPDATE ${table} SET key_version = $1, sealed = $2 WHERE ${SEALED_TABLES[table]} = $3 AND key_version < $1`,
  )
  const changes = await Promise.all(rows.map(({ id, sealed }) => statement.run(version, sealed, id)))
  return changes.reduce((sum, changed) => sum + changed, 0)
}

/** As in save-records.ts, all values are sent as one binary parameter. */
async function replaceInOneStatement(
  tx: Database,
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
  const statement = tx.prepare(
    `UPDATE ${table} SET key_version = $5, sealed = substring($1::bytea FROM start + $4::int FOR size)
     FROM unnest($2::int[], $3::int[]) AS cut(start, size)
     WHERE ${SEALED_TABLES[table]} = substring($1::bytea FROM start FOR $4::int) AND key_version < $5`,
  )
  const list = (numbers: readonly number[]) => `{${numbers.join(',')}}`
  const bytes = Buffer.concat(rows.flatMap(({ id, sealed }) => [id, sealed]))
  return statement.run(bytes, list(starts), list(lengths), idBytes, version)
}
