import type { Database } from '../database/database.ts'
import { createNodeTable } from '../database/node-table.ts'
import {
  type DatabaseOptions,
  type OpenDatabase,
  openDatabase,
  toFailureListener,
} from '../database/open-database.ts'
import { openWriter, type Writer } from '../database/sqlite-writer.ts'
import { toTimeLimits } from '../database/time-limits.ts'
import { createTables, type Tables, WRITES } from './tables.ts'

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
export type Store = Tables & OpenDatabase

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
    close: async () => {
      await writer?.close()
      await heartbeats?.close()
      await opened.close()
    },
  }
}

function toTables(database: Database, writer: Writer | undefined, heartbeats: Database | undefined): Tables {
  const tables = createTables(database)
  if (writer) return withWriter(tables, writer)
  return heartbeats ? { ...tables, nodes: createNodeTable(heartbeats) } : tables
}

/** In a server on PostgreSQL, heartbeats have a connection of their own: requests that use all others must not make it look dead. */
async function openHeartbeats({ databaseUrl, writerThread, timeoutMs, startWaitMs }: DatabaseOptions) {
  if (databaseUrl === undefined || !writerThread) return undefined
  const { openPostgres } = await import('../database/postgres.ts')
  return openPostgres(databaseUrl, { startWaitMs, connections: 1, ...toTimeLimits(timeoutMs) })
}

/** The same tables, with the writing methods sent to the writer thread. */
function withWriter(tables: Tables, writer: Writer): Tables {
  const entries = Object.entries(WRITES).map(([name, methods]) => {
    const table = name as keyof Tables
    const remote = methods.map((method) => {
      // The audit log has collected the requests of a turn itself.
      const call = table === 'audit' && method === 'append' ? writer.callNow : writer.call
      return [method, (...args: unknown[]) => call({ table, method, args })]
    })
    return [table, { ...tables[table], ...Object.fromEntries(remote) }]
  })
  return Object.fromEntries(entries) as Tables
}
