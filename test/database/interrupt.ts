import { join } from 'node:path'
import type { Database } from '../../src/database/database.ts'
import type { DatabaseOptions } from '../../src/database/open-database.ts'
import { openPostgres } from '../../src/database/postgres.ts'
import { openSqlite } from '../../src/database/sqlite.ts'

/** Opens the database of a store without creating tables. */
export const openDatabase = async ({ dataDir, databaseUrl }: DatabaseOptions): Promise<Database> =>
  databaseUrl === undefined ? openSqlite(join(dataDir, 'tabbat.db')) : openPostgres(databaseUrl)

/** The same database. After this many statements in transactions, `instead` runs in place of the next one. */
export function interrupt(database: Database, after: number, instead: () => Promise<never>): Database {
  let left = after
  const prepare = (tx: Database, sql: string) => {
    const statement = tx.prepare(sql)
    const run = (...values: Parameters<typeof statement.run>) =>
      left-- > 0 ? statement.run(...values) : instead()
    return { ...statement, run }
  }
  return {
    ...database,
    transaction: (work, options) =>
      database.transaction((tx) => work({ ...tx, prepare: (sql) => prepare(tx, sql) }), options),
  }
}
