import type { RowPages } from './row-pages.ts'
import { openSqliteRowPages } from './sqlite-row-pages.ts'

/** From where a thread reads the audit log that a snapshot shows. For PostgreSQL the address holds the password. */
export type PageSource =
  | { readonly path: string }
  | { readonly databaseUrl: string; readonly snapshot: string }

export async function openRowPages(source: PageSource): Promise<RowPages> {
  if ('path' in source) return openSqliteRowPages(source.path)
  // Loaded on demand: SQLite needs no driver.
  const { openPostgresRowPages } = await import('./postgres-row-pages.ts')
  return openPostgresRowPages(source.databaseUrl, source.snapshot)
}
