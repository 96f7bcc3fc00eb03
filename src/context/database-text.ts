import { resolve } from 'node:path'
import { SQLITE_FILE } from '../database/open-database.ts'
import { toDatabasePlace } from '../settings/database-url.ts'
import type { Config } from './config.ts'

/** The database in use as text, without a password. */
export function toDatabaseText({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): string {
  if (databaseUrl === undefined) return `SQLite ${resolve(dataDir, SQLITE_FILE)}`
  return `PostgreSQL ${toDatabasePlace(databaseUrl)}`
}
