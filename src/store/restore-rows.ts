import { APPEND_ONLY, DATA_TABLES, type DataTable, TRANSIENT_TABLES } from './data-tables.ts'
import type { Database, Value } from './database.ts'

/** Fills the tables from elsewhere. All of it happens inside one transaction. */

/** What there is to lose: an audit log cannot be taken away. What the database knows about itself does not count. */
export async function findContents(inside: Database): Promise<'none' | 'data' | 'audit log'> {
  const filled: DataTable[] = []
  for (const table of DATA_TABLES)
    if ((await inside.prepare(`SELECT 1 AS found FROM ${table} LIMIT 1`).get()) !== undefined)
      filled.push(table)
  if (filled.some((table) => APPEND_ONLY.includes(table))) return 'audit log'
  return filled.some((table) => table !== 'meta') ? 'data' : 'none'
}

/** Keeps other nodes from changing the tables until the transaction ends, and takes all rows away. */
export async function emptyTables(inside: Database): Promise<void> {
  await inside.lock('migrate')
  for (const table of DATA_TABLES)
    if (!APPEND_ONLY.includes(table)) await inside.prepare(`DELETE FROM ${table}`).run()
  for (const table of TRANSIENT_TABLES) await inside.prepare(`DELETE FROM ${table}`).run()
}

export async function insertRows(
  inside: Database,
  table: DataTable,
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): Promise<void> {
  if (rows.length === 0) return
  const width = columns.length
  const places = rows.map((_row, at) => `(${columns.map((_name, n) => `$${at * width + n + 1}`).join(', ')})`)
  await inside
    .prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ${places.join(', ')}`)
    .run(...rows.flat())
}
