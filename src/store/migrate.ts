import { Refusal } from '../errors.ts'
import type { Database } from './database.ts'
import { apiKeys } from './migrations/0001-api-keys.ts'
import { registry } from './migrations/0002-registry.ts'

/** Numbered, forward only. A migration that was released is never changed. */
const MIGRATIONS: readonly { readonly id: number; readonly sql: readonly string[] }[] = [apiKeys, registry]

/** The schema that this program knows. */
export const SCHEMA_VERSION = MIGRATIONS.length

/**
 * Brings the tables up to date, all in one transaction: a crash half-way leaves the tables as they were, and of several
 * nodes that start at once one does the work while the others wait.
 */
export async function migrate(database: Database): Promise<void> {
  await database.transaction(async (inside) => {
    await inside.lock('migrate')
    await inside.prepare('CREATE TABLE IF NOT EXISTS schema_version (id BIGINT PRIMARY KEY)').run()
    await inside.prepare('CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)').run()
    const row = await inside.prepare('SELECT COALESCE(MAX(id), 0) AS id FROM schema_version').get()
    const current = Number(row?.id ?? 0)
    if (current > SCHEMA_VERSION)
      throw new Refusal(
        `The database was made by a newer Tabbat (schema ${current}, this one knows ${SCHEMA_VERSION}). Update Tabbat.`,
      )
    for (const migration of MIGRATIONS.slice(current)) {
      for (const sql of migration.sql) await inside.prepare(sql).run()
      await inside.prepare('INSERT INTO schema_version (id) VALUES ($1)').run(migration.id)
    }
  })
}
