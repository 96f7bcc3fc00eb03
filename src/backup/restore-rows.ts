import type { Database, Value } from '../database/database.ts'
import { prepareMonthsOf } from '../ledger/audit-months.ts'
import { APPEND_ONLY, DATA_TABLES, type DataTable, TRANSIENT_TABLES } from './data-tables.ts'

/** What a restore would overwrite. An audit log cannot be deleted; meta alone does not count as data. */
export async function findContents(tx: Database): Promise<'none' | 'data' | 'audit log'> {
  const filled: DataTable[] = []
  for (const table of DATA_TABLES)
    if ((await tx.prepare(`SELECT 1 AS found FROM ${table} LIMIT 1`).get()) !== undefined) filled.push(table)
  if (filled.some((table) => APPEND_ONLY.includes(table))) return 'audit log'
  return filled.some((table) => table !== 'meta') ? 'data' : 'none'
}

/** Deletes all rows. The lock keeps other nodes from migrating until the transaction ends. */
export async function emptyTables(tx: Database): Promise<void> {
  await tx.lock('migrate')
  for (const table of DATA_TABLES)
    if (!APPEND_ONLY.includes(table)) await tx.prepare(`DELETE FROM ${table}`).run()
  for (const table of TRANSIENT_TABLES) await tx.prepare(`DELETE FROM ${table}`).run()
}

export async function insertRows(
  tx: Database,
  table: DataTable,
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): Promise<void> {
  if (rows.length === 0) return
  if (table === 'audit' && tx.dialect === 'postgres')
    await prepareMonthsOf(tx, new Set(rows.map((row) => String(row[columns.indexOf('chain')]))))
  const width = columns.length
  const places = rows.map((_row, at) => `(${columns.map((_name, n) => `$${at * width + n + 1}`).join(', ')})`)
  await tx
    .prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ${places.join(', ')}`)
    .run(...rows.flat())
}
