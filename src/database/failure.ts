import { isTransient } from './postgres-user-error.ts'
import { LOST_CODE } from './sqlite-files.ts'
import { WriteError } from './sqlite-writer.ts'

/** The driver's messages for a connection that broke during a statement or a transaction. */
const LOST = /not queryable|Connection terminated|transaction was rolled back/

/** Whether the database failed, as opposed to a bug of ours in the query. */
export function isStoreFailure(error: unknown): boolean {
  if (error instanceof WriteError || toFatal(error) !== undefined) return true
  if (!(error instanceof Error)) return false
  // SQLite's errors have an errcode, PostgreSQL's a severity; network errors are known by name.
  return 'errcode' in error || 'severity' in error || isTransient(error) || LOST.test(error.message)
}

/** The connection broke or timed out: the statement, even a COMMIT, may have been executed. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof Error && !(error instanceof WriteError) && (isTransient(error) || LOST.test(error.message))

/** An index and its table disagree, or the pages of the file are inconsistent. */
export class DamagedIndex extends Error {
  readonly code = 'DAMAGED_INDEX'

  constructor() {
    super('an index disagrees with its table')
    this.name = 'DamagedIndex'
  }
}

/** After these the process must stop: acknowledged data may be lost, and what is read may not be what was written. */
export type Fatal = 'database_damaged' | 'database_lost' | 'disk_failed'

/** Codes of SQLite (lower 8 bits) and PostgreSQL for a damaged file, and of a sealed value that cannot be opened. */
const DAMAGED: readonly unknown[] = [11, 26, 'XX001', 'XX002', 'BROKEN_SEAL', 'DAMAGED_INDEX']
/** PostgreSQL's io_error. A full disk has other codes in both databases, and is not fatal. */
const POSTGRES_IO_ERROR = '58030'
const SQLITE_IO_ERROR = 10
/**
 * Extended I/O error codes of SQLite that say nothing about data on the disk: out of memory, locks, and the -shm file, which
 * is an index in memory (a full disk also shows there).
 */
const HARMLESS_IO_ERRORS: readonly number[] = [8, 9, 11, 12, 14, 15, 18, 19, 20, 21, 25]

export function toFatal(error: unknown): Fatal | undefined {
  const { errcode = 0, code } = (error ?? {}) as { errcode?: number; code?: unknown }
  if (DAMAGED.includes(errcode & 0xff) || DAMAGED.includes(code)) return 'database_damaged'
  if (String(code).startsWith(LOST_CODE)) return 'database_lost'
  const isDiskError = (errcode & 0xff) === SQLITE_IO_ERROR && !HARMLESS_IO_ERRORS.includes(errcode >> 8)
  return isDiskError || code === POSTGRES_IO_ERROR ? 'disk_failed' : undefined
}
