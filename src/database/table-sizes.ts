import { statSync } from 'node:fs'
import type { Database } from './database.ts'

/** Bytes on disk with indexes. SQLite tells only the size of the whole database. */
export type TableSizes = { readonly total: number; readonly tables: readonly TableSize[] }

type TableSize = { readonly table: string; readonly bytes: number }

/** The partitions of a table count as one. */
const LIST = `SELECT name, SUM(bytes) AS bytes FROM (
    SELECT COALESCE(pg_partition_root(oid), oid)::regclass::text AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace) AS tables
  GROUP BY name ORDER BY name`

export async function readTableSizes(database: Database, file: string): Promise<TableSizes> {
  if (database.dialect === 'sqlite') return { total: sizeOf(file) + sizeOf(`${file}-wal`), tables: [] }
  const tables = (await database.prepare(LIST).all()).map(({ name, bytes }) => ({
    table: String(name),
    bytes: Number(bytes),
  }))
  return { total: tables.reduce((sum, { bytes }) => sum + bytes, 0), tables }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0
