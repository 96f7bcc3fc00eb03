import { isPassing } from './postgres-refusal.ts'
import { WriteError } from './sqlite-writer.ts'

/** The driver's own words for a connection that broke under a statement or a transaction. */
const LOST = /not queryable|Connection terminated|transaction was taken back/

/** Whether the database could not do what it was asked, as against a mistake of ours in asking. */
export function isStoreFailure(error: unknown): boolean {
  if (error instanceof WriteError) return true
  if (!(error instanceof Error)) return false
  // SQLite says why by a number; PostgreSQL's errors have a severity, and those of the way there are known by name.
  return 'errcode' in error || 'severity' in error || isPassing(error) || LOST.test(error.message)
}
