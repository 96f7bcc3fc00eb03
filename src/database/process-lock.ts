import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { UserError } from '../errors.ts'
import type { Database } from './database.ts'

const BUSY = 5

/** Work that only one process of a database does at a time. */
type ProcessLock = {
  /** The name of the lock in PostgreSQL. */
  readonly name: string
  /** The end of the name of a file beside the SQLite database. */
  readonly file: string
  /** What a second process is told. */
  readonly refusal: string
}

export const ROTATION_LOCK: ProcessLock = {
  name: 'rotate-root',
  file: 'rotation',
  refusal: 'Another process is rotating the root key. Wait until it ends. Nothing was changed.',
}

export const ARCHIVE_LOCK: ProcessLock = {
  name: 'audit:archive',
  file: 'archive',
  refusal: 'Another process is archiving the audit log. Wait until it ends. Nothing was changed.',
}

/** Throws a UserError if another process has the lock. It ends with the process. */
export function withProcessLock<T>(
  { database, place }: { readonly database: Database; readonly place: string },
  lock: ProcessLock,
  work: () => Promise<T>,
): Promise<T> {
  return database.dialect === 'postgres'
    ? holdInPostgres(database, lock, work)
    : withFileLock(`${place}-${lock.file}`, lock.refusal, work)
}

/** A transaction that only holds an advisory lock; the work uses other connections. */
function holdInPostgres<T>(
  database: Database,
  { name, refusal }: ProcessLock,
  work: () => Promise<T>,
): Promise<T> {
  return database.transaction(
    async (tx) => {
      await tx.prepare('SET LOCAL idle_in_transaction_session_timeout = 0').run()
      const row = await tx
        .prepare('SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS held')
        .get(name)
      if (row?.held !== true) throw new UserError(refusal)
      return work()
    },
    { patient: true },
  )
}

/** Locks an empty SQLite file, by SQLite: the system releases it however the process ends. A second process gets the refusal. */
export async function withFileLock<T>(path: string, refusal: string, work: () => Promise<T>): Promise<T> {
  const file = new DatabaseSync(path)
  try {
    chmodSync(path, 0o600)
    file.exec('BEGIN EXCLUSIVE')
    return await work()
  } catch (error) {
    const isTaken = (error as { errcode?: number }).errcode === BUSY && !file.isTransaction
    throw isTaken ? new UserError(refusal) : error
  } finally {
    file.close()
  }
}
