import type { Database } from './database.ts'

/** The time of the server in ms. Undefined with SQLite, which runs in this process. */
export async function readDatabaseClock(database: Database): Promise<number | undefined> {
  if (database.dialect === 'sqlite') return undefined
  const row = await database.prepare('SELECT EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS now').get()
  return Number(row?.now)
}
