import type { Database, Value } from '../database/database.ts'
import { prepareMonthsOf } from '../ledger/audit-months.ts'
import { APPEND_ONLY, DATA_TABLES, type DataTable, TRANSIENT_TABLES } from './data-tables.ts'

/** What a restore would overwrite. An audit log cannot be deleted; meta alone does not count as data. */
export async function findContents(inside: Database): Promise<'none' | 'data' | 'audit log'> {
  const filled: DataTable[] = []
  for (const table of DATA_TABLES)
    if ((await inside.prepare(`SELECT 1 AS found FROM ${table} LIMIT 1`).get()) !== undefined)
      filled.push(table)
  if (filled.some((table) => APPEND_ONLY.includes(table))) return 'audit log'
  return filled.some((table) => table !== 'meta') ? 'data' : 'none'
}

/** Deletes all rows. The lock keeps other nodes from migrating until the transaction ends. */
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
  if (table === 'audit' && inside.dialect === 'postgres')
    await prepareMonthsOf(inside, new Set(rows.map((row) => String(row[columns.indexOf('chain')]))))
  const width = columns.length
  const places = rows.map((_row, at) => `(${columns.map((_name, n) => `$${at * width + n + 1}`).join(', ')})`)
  await inside
    .prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ${places.join(', ')}`)
    .run(...rows.flat())
}
