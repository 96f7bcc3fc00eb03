import type { Database } from '../database/database.ts'
import { nodeTable } from '../database/node-table.ts'
import {
  type DatabaseOptions,
  type OpenDatabase,
  openDatabase,
  toFailureListener,
} from '../database/open-database.ts'
import { openWriter, type Writer } from '../database/sqlite-writer.ts'
import { toTimeLimits } from '../database/time-limits.ts'
import { createReadingTables, createTables, type Tables } from './tables.ts'

/**
 * The database of Tabbat with all its tables (see tables.ts).
 *
 * What it guarantees:
 * - A method that resolves has committed, and the commit is on disk (`synchronous = FULL`, `synchronous_commit = on`).
 * - Each method is one transaction: all of it happens or nothing.
 * - Both databases give the same results; test/context/conformance.test.ts feeds the same cases to both.
 *
 * Opened once by the context of a server, and by each command. In a server on SQLite, a thread does all writing: writes that
 * arrive during a commit share the next one, and each of them still succeeds or fails alone.
 */
export type Store = Tables &
  OpenDatabase & {
    /** From now on, the connection of a server on SQLite only reads: a write that is not sent to the thread fails. */
    readonly refuseWrites: () => Promise<void>
  }

export async function openStore(options: DatabaseOptions): Promise<Store> {
  const { databaseUrl, writerThread = false, timeoutMs } = options
  const opened = await openDatabase(options)
  const heartbeats = await openHeartbeats(options).catch(async (error) => {
    await opened.close()
    throw error
  })
  const writer =
    databaseUrl === undefined && writerThread
      ? openWriter(opened.file, { timeoutMs, onFailure: toFailureListener(options) })
      : undefined
  return {
    ...toTables(opened.database, writer, heartbeats),
    ...opened,
    refuseWrites: async () => {
      if (writer) await opened.database.prepare('PRAGMA query_only = ON').run()
    },
    close: async () => {
      await writer?.close()
      await heartbeats?.close()
      await opened.close()
    },
  }
}

function toTables(database: Database, writer: Writer | undefined, heartbeats: Database | undefined): Tables {
  // The audit log has collected the requests of a turn itself.
  if (writer)
    return createReadingTables(database, (job) =>
      job.table === 'audit' && job.method === 'append' ? writer.callNow(job) : writer.call(job),
    )
  const tables = createTables(database)
  return heartbeats ? { ...tables, nodes: nodeTable.create(heartbeats) } : tables
}

/** In a server on PostgreSQL, heartbeats have a connection of their own: requests that use all others must not make it look dead. */
async function openHeartbeats(options: DatabaseOptions) {
  const { dataDir, databaseUrl, writerThread, timeoutMs, startWaitMs } = options
  if (databaseUrl === undefined || !writerThread) return undefined
  const { openPostgres } = await import('../database/postgres.ts')
  return openPostgres(databaseUrl, { dataDir, startWaitMs, connections: 1, ...toTimeLimits(timeoutMs) })
}
