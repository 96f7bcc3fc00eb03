import { isTransient } from './postgres-user-error.ts'
import { LOST_CODE } from './sqlite-files.ts'
import { WriteError } from './sqlite-writer.ts'

/** The driver's own words for a connection that broke under a statement or a transaction. */
const LOST = /not queryable|Connection terminated|transaction was taken back/

/** Whether the database could not do what it was asked, as against a mistake of ours in asking. */
export function isStoreFailure(error: unknown): boolean {
  if (error instanceof WriteError || toFatal(error) !== undefined) return true
  if (!(error instanceof Error)) return false
  // SQLite says why by a number; PostgreSQL's errors have a severity, and those of the way there are known by name.
  return 'errcode' in error || 'severity' in error || isTransient(error) || LOST.test(error.message)
}

/** The connection broke or fell silent: the statement, even a COMMIT, may have been carried out. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof Error && !(error instanceof WriteError) && (isTransient(error) || LOST.test(error.message))

/** An index and its table disagree, or the pages of the file do not fit together. */
export class DamagedIndex extends Error {
  readonly code = 'DAMAGED_INDEX'

  constructor() {
    super('an index disagrees with its table')
    this.name = 'DamagedIndex'
  }
}

/** After these nothing goes on: what was acknowledged may not be there, and what is read may not be what was written. */
export type Fatal = 'database_damaged' | 'database_lost' | 'disk_failed'

/** What SQLite (without the details in its higher bits) and PostgreSQL call a damaged file; a sealed value that does not open. */
const DAMAGED: readonly unknown[] = [11, 26, 'XX001', 'XX002', 'BROKEN_SEAL', 'DAMAGED_INDEX']
/** PostgreSQL's io_error. A full disk has codes of its own in both, and passes. */
const POSTGRES_IO_ERROR = '58030'
const SQLITE_IO_ERROR = 10
/**
 * Details of SQLite's I/O error that say nothing about data on the disk: no memory, locks, and the -shm file, which is only
 * an index in memory (a full disk shows there, too).
 */
const HARMLESS_IO_ERRORS: readonly number[] = [8, 9, 11, 12, 14, 15, 18, 19, 20, 21, 25]

export function toFatal(error: unknown): Fatal | undefined {
  const { errcode = 0, code } = (error ?? {}) as { errcode?: number; code?: unknown }
  if (DAMAGED.includes(errcode & 0xff) || DAMAGED.includes(code)) return 'database_damaged'
  if (String(code).startsWith(LOST_CODE)) return 'database_lost'
  const isDiskError = (errcode & 0xff) === SQLITE_IO_ERROR && !HARMLESS_IO_ERRORS.includes(errcode >> 8)
  return isDiskError || code === POSTGRES_IO_ERROR ? 'disk_failed' : undefined
}
