import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { UserError } from '../errors.ts'
import type { Database } from './database.ts'
import type { Store } from './store.ts'

const BUSY = 5

/** Runs the work while no other process rotates the root key of this database. The lock ends with the process. */
export function withRotationLock<T>({ database, place }: Store, work: () => Promise<T>): Promise<T> {
  return database.dialect === 'postgres' ? holdInPostgres(database, work) : holdBesideSqlite(place, work)
}

const toRefusal = () =>
  new UserError('Another process is rotating the root key. Wait until it ends. Nothing was changed.')

/** A transaction that only holds an advisory lock; the work uses other connections. */
function holdInPostgres<T>(database: Database, work: () => Promise<T>): Promise<T> {
  return database.transaction(async (inside) => {
    await inside.prepare('SET LOCAL idle_in_transaction_session_timeout = 0').run()
    const row = await inside
      .prepare("SELECT pg_try_advisory_xact_lock(hashtextextended('rotate-root', 0)) AS held")
      .get()
    if (row?.held !== true) throw toRefusal()
    return work()
  })
}

/** An empty SQLite file beside the database, locked by SQLite: the system releases it however the process ends. */
async function holdBesideSqlite<T>(place: string, work: () => Promise<T>): Promise<T> {
  const path = `${place}-rotation`
  const file = new DatabaseSync(path)
  try {
    chmodSync(path, 0o600)
    file.exec('BEGIN EXCLUSIVE')
    return await work()
  } catch (error) {
    throw (error as { errcode?: number }).errcode === BUSY && !file.isTransaction ? toRefusal() : error
  } finally {
    file.close()
  }
}
