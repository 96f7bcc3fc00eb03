import type { Database } from './database.ts'

/** The lowest of the limits of the server, of the database and of the user. -1 is no limit. */
const LIMIT = `SELECT LEAST(
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
  (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database()),
  (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)) AS most`

/** How many connections PostgreSQL allows to this user. Undefined for SQLite. */
export async function readConnectionLimit(database: Database): Promise<number | undefined> {
  if (database.dialect === 'sqlite') return undefined
  return Number((await database.prepare(LIMIT).get())?.most)
}
