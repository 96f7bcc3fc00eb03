import type { Database, Row } from '../database/database.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import { openSqlite } from '../database/sqlite.ts'
import { type DataTable, rowsAtOnce } from './format.ts'

/** The tables at one moment, regardless of later writes. */
export type Snapshot = {
  readonly count: (table: DataTable) => Promise<number>
  /** All rows in pages, in storage order. */
  readonly rows: (table: DataTable) => AsyncIterable<readonly Row[]>
}

export function withSnapshot<T>(
  store: Pick<OpenDatabase, 'database' | 'file'>,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  return store.database.dialect === 'postgres'
    ? withPostgresSnapshot(store.database, work)
    : withSqliteSnapshot(store.file, work)
}

const count = async (database: Database, table: DataTable) =>
  Number((await database.prepare(`SELECT COUNT(*) AS rows FROM ${table}`).get())?.rows ?? 0)

function withPostgresSnapshot<T>(database: Database, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    await tx.prepare('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY').run()
    // With its partitions, before the snapshot begins: the archiver could remove one in between, and the backup would lack a month.
    await tx.prepare('LOCK TABLE audit IN ACCESS SHARE MODE').run()
    // The consumer may be slow.
    await tx.prepare('SET LOCAL idle_in_transaction_session_timeout = 0').run()
    return work({ count: (table) => count(tx, table), rows: (table) => fetchRows(tx, table) })
  })
}

async function* fetchRows(tx: Database, table: DataTable): AsyncIterable<readonly Row[]> {
  await tx.prepare(`DECLARE all_${table} NO SCROLL CURSOR FOR SELECT * FROM ${table}`).run()
  const fetch = tx.prepare(`FETCH ${rowsAtOnce(table)} FROM all_${table}`)
  for (let rows = await fetch.all(); rows.length > 0; rows = await fetch.all()) yield rows
  await tx.prepare(`CLOSE all_${table}`).run()
}

/** Opens its own connection with a read transaction: writers are not blocked, and their writes are not seen. */
async function withSqliteSnapshot<T>(path: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const { exec, tx, close } = openSqlite(path, { mustExist: true })
  try {
    exec('BEGIN')
    // The snapshot begins with the first read, not with BEGIN.
    await count(tx, 'meta')
    return await work({ count: (table) => count(tx, table), rows: (table) => pageRows(tx, table) })
  } finally {
    await close()
  }
}

async function* pageRows(tx: Database, table: DataTable): AsyncIterable<readonly Row[]> {
  const page = tx.prepare(
    `SELECT rowid AS at_row, * FROM ${table} WHERE rowid > $1 ORDER BY rowid LIMIT ${rowsAtOnce(table)}`,
  )
  let after = Number.MIN_SAFE_INTEGER
  for (let rows = await page.all(after); rows.length > 0; rows = await page.all(after)) {
    after = Number(rows.at(-1)?.at_row)
    yield rows.map(({ at_row: _, ...row }) => row)
  }
}
