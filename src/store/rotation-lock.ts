import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { UserError } from '../errors.ts'
import type { Database } from './database.ts'
import type { Store } from './store.ts'

const BUSY = 5

/** Does the work while no other process rotates the root key of this database. A process that dies lets go. */
export function withRotationLock<T>({ database, place }: Store, work: () => Promise<T>): Promise<T> {
  return database.dialect === 'postgres' ? holdInPostgres(database, work) : holdBesideSqlite(place, work)
}

const toRefusal = () =>
  new UserError(
    'The root key is being rotated by another process. Wait for it to end; nothing was changed here.',
  )

/** A transaction that holds a name and nothing else; the work goes over other connections. */
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

/** An empty file beside the database, locked the way SQLite locks: the system frees it however the process ends. */
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
