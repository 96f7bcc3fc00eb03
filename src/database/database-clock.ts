import type { Database } from './database.ts'

/**
 * SQL of the present time in ms, by the clock that all nodes share: that of the server in PostgreSQL (see functions/shared-clock.sql); in
 * SQLite that of the process, which the parameter holds.
 */
export const toSharedNow = ({ dialect }: Pick<Database, 'dialect'>, parameter: string) =>
  dialect === 'postgres' ? `shared_clock(${parameter})` : parameter

/** A time that is this much later than any rightful one was written while a clock was ahead. */
export const MAX_CLOCK_SKEW_MS = 600_000

/** The time of the server in ms. Undefined with SQLite, which runs in this process. */
export async function readDatabaseClock(database: Database): Promise<number | undefined> {
  if (database.dialect === 'sqlite') return undefined
  const row = await database.prepare('SELECT EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS now').get()
  return Number(row?.now)
}
