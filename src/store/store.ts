import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '../errors.ts'
import type { Database } from './database.ts'
import { migrate } from './migrate.ts'
import { toPostgresRefusal } from './postgres-refusal.ts'
import { openSqlite } from './sqlite.ts'
import { toSqliteRefusal } from './sqlite-refusal.ts'
import { openWriter, type Writer } from './sqlite-writer.ts'
import { createTables, type Tables, WRITES } from './tables.ts'

export type Store = Tables & {
  readonly database: Database
  /** Where the data lies, for people; without a password. */
  readonly place: string
  /** Fails when the store cannot be written now. */
  readonly checkWritable: () => Promise<void>
  readonly close: () => Promise<void>
}

export type StoreOptions = {
  readonly dataDir: string
  /** postgres://…; absent means SQLite in the data folder. */
  readonly databaseUrl: string | undefined
  /** A server gives writing in SQLite a thread of its own, and lets nobody wait long for PostgreSQL. */
  readonly writerThread?: boolean
  /** Refuse instead of making a new database in the data folder. */
  readonly mustExist?: boolean
  /** How long to wait for a PostgreSQL that is not there yet. */
  readonly startWaitMs?: number
}

/** A command may have to look at whole tables. */
const COMMAND_TIMEOUT_MS = 3_600_000

export async function openStore({
  dataDir,
  databaseUrl,
  writerThread = false,
  startWaitMs,
  mustExist = false,
}: StoreOptions): Promise<Store> {
  const path = join(dataDir, 'tabbat.db')
  if (mustExist && databaseUrl === undefined && !existsSync(path))
    throw new Refusal(
      `There is no database at ${path}. Run this where the server runs, or set TABBAT_DATA_DIR.`,
    )
  const statementTimeoutMs = writerThread ? undefined : COMMAND_TIMEOUT_MS
  // The driver is loaded where it is needed: a server on SQLite starts sooner without it.
  const database =
    databaseUrl === undefined
      ? openSqlite(path)
      : await (await import('./postgres.ts')).openPostgres(databaseUrl, { startWaitMs, statementTimeoutMs })
  try {
    await migrate(database)
  } catch (error) {
    await database.close()
    throw databaseUrl === undefined ? toSqliteRefusal(path, error) : toPostgresRefusal(databaseUrl, error)
  }
  const writer = databaseUrl === undefined && writerThread ? openWriter(path) : undefined
  const direct = createTables(database)
  const tables = writer ? withWriter(direct, writer) : direct
  return {
    ...tables,
    database,
    place: databaseUrl === undefined ? path : toPlace(databaseUrl),
    checkWritable: tables.meta.checkWritable,
    close: async () => {
      await writer?.close()
      await database.close()
    },
  }
}

/** The same tables, whose writing methods are carried out by the writer's thread. */
function withWriter(tables: Tables, writer: Writer): Tables {
  const entries = Object.entries(WRITES).map(([name, methods]) => {
    const table = name as keyof Tables
    const remote = methods.map((method) => [
      method,
      (...args: unknown[]) => writer.call({ table, method, args }),
    ])
    return [table, { ...tables[table], ...Object.fromEntries(remote) }]
  })
  return Object.fromEntries(entries) as Tables
}

function toPlace(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl)
  return `postgres://${hostname}${port && `:${port}`}${pathname}`
}
