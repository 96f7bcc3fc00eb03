import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HOUR_MS } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import type { Database } from './database.ts'
import { toFatal } from './failure.ts'
import { migrate } from './migrate.ts'
import { toPostgresUserError } from './postgres-user-error.ts'
import { copyIfReadOnly, type ReadableFile } from './read-only-copy.ts'
import { openSqlite } from './sqlite.ts'
import { toSqliteUserError } from './sqlite-user-error.ts'
import { openWriter, type Writer } from './sqlite-writer.ts'
import { createTables, type Tables, WRITES } from './tables.ts'

/** The name of the SQLite database in the data folder. */
export const SQLITE_FILE = 'tabbat.db'

export type Store = Tables & {
  readonly database: Database
  /** Where the data lies, for people; without a password. */
  readonly place: string
  /** The file that SQLite has open: the one at the place, or a copy of it where that cannot be opened. */
  readonly file: string
  readonly close: () => Promise<void>
}

export type StoreOptions = {
  readonly dataDir: string
  /** postgres://…; absent means SQLite in the data folder. */
  readonly databaseUrl: string | undefined
  /** A server gives writing in SQLite a thread of its own, and lets nobody wait long for PostgreSQL. */
  readonly writerThread?: boolean
  /** Nothing will be written: a database on a read-only file system will do. */
  readonly isReading?: boolean
  /** Refuse instead of making a new database in the data folder. */
  readonly mustExist?: boolean
  /** Told when the database is damaged or lost, or its disk fails, whatever met it: nothing may go on. */
  readonly onFatal?: (error: unknown) => void
  /** How long a request of a server may wait for the store. */
  readonly timeoutMs?: number
  /** How long to wait for a PostgreSQL that is not there yet. */
  readonly startWaitMs?: number
}

const TIMEOUT_MS = 5000
/** A command may have to look at whole tables. */
const COMMAND_LIMITS = { answerTimeoutMs: 15_000, statementTimeoutMs: HOUR_MS }

export async function openStore(options: StoreOptions): Promise<Store> {
  const { dataDir, databaseUrl, writerThread = false, mustExist = false, onFatal } = options
  const path = join(dataDir, SQLITE_FILE)
  if (mustExist && databaseUrl === undefined && !existsSync(path))
    throw new UserError(
      `There is no database at ${path}. Run this where the server runs, or set TABBAT_DATA_DIR.`,
    )
  const onFailure = (error: unknown) => {
    if (toFatal(error)) onFatal?.(error)
  }
  const { path: file, remove } = toFile(path, options)
  const database = await openDatabase(file, options, onFailure).catch((error) => {
    remove()
    throw error
  })
  const writer =
    databaseUrl === undefined && writerThread
      ? openWriter(file, { timeoutMs: options.timeoutMs, onFailure })
      : undefined
  const direct = createTables(database)
  const tables = writer ? withWriter(direct, writer) : direct
  return {
    ...tables,
    database,
    place: databaseUrl === undefined ? path : toPlace(databaseUrl),
    file,
    close: async () => {
      await writer?.close()
      await database.close()
      remove()
    },
  }
}

const toFile = (path: string, { databaseUrl, isReading }: StoreOptions): ReadableFile =>
  databaseUrl === undefined && isReading ? copyIfReadOnly(path) : { path, remove: () => {} }

async function openDatabase(
  path: string,
  { databaseUrl, startWaitMs, writerThread, timeoutMs }: StoreOptions,
  onFailure: (error: unknown) => void,
): Promise<Database> {
  const limits = writerThread ? toLimits(timeoutMs) : COMMAND_LIMITS
  // The driver is loaded where it is needed: a server on SQLite starts sooner without it.
  const database =
    databaseUrl === undefined
      ? openSqlite(path, timeoutMs)
      : await (await import('./postgres.ts')).openPostgres(databaseUrl, { startWaitMs, onFailure, ...limits })
  try {
    await migrate(database)
    return database
  } catch (error) {
    await database.close()
    throw databaseUrl === undefined ? toSqliteUserError(path, error) : toPostgresUserError(databaseUrl, error)
  }
}

/** The server ends a statement by itself before we give it up, and both leave time to answer the caller. */
const toLimits = (timeoutMs = TIMEOUT_MS) => ({
  answerTimeoutMs: timeoutMs * 0.9,
  statementTimeoutMs: Math.round(timeoutMs * 0.8),
  operationTimeoutMs: timeoutMs * 0.95,
})

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
