import { DATA_TABLES } from '../../src/backup/format.ts'
import { insertRows } from '../../src/backup/restore-backup.ts'
import type { Store } from '../../src/context/store.ts'
import type { Database, Value } from '../../src/database/database.ts'

const QUERIES = {
  sqlite: {
    tables: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
    columns: 'SELECT name, type FROM pragma_table_info($1) ORDER BY name',
  },
  postgres: {
    tables: `SELECT relname AS name FROM pg_class
      WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace`,
    columns:
      "SELECT column_name AS name, data_type AS type FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1 ORDER BY 1",
  },
} as const

export async function listTables({ dialect, prepare }: Database): Promise<string[]> {
  return (await prepare(QUERIES[dialect].tables).all()).map(({ name }) => String(name)).toSorted()
}

/** All rows of all tables, in the same order and format on both databases. */
export async function dump({ database }: Store): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {}
  for (const table of DATA_TABLES) {
    const rows = await database.prepare(`SELECT * FROM ${table}`).all()
    tables[table] = rows.map((row) => JSON.stringify(Object.entries(row).map(toPlain))).toSorted()
  }
  return tables
}

const toPlain = ([name, value]: [string, unknown]) => [
  name,
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
]

/** Inserts made-up rows of the right types into every empty table. */
export async function fillEmptyTables({ database }: Store): Promise<void> {
  for (const table of DATA_TABLES) {
    if (await database.prepare(`SELECT 1 AS found FROM ${table} LIMIT 1`).get()) continue
    const columns = await database.prepare(QUERIES[database.dialect].columns).all(table)
    const names = columns.map(({ name }) => String(name))
    const rows = [1, 2, 3].map((seed) => columns.map(({ type }) => toValue(String(type), seed)))
    await insertRows(database, table, names, rows)
  }
}

function toValue(type: string, seed: number): Value {
  if (/^bytea$/i.test(type)) return Buffer.alloc(32, seed)
  return /^bigint$/i.test(type) ? 2 ** 50 + seed : `té\n"${seed}\u2028`
}
