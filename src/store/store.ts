import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { HOUR_MS } from '../contract/time.ts'
import { refuseUntrustedFolder, refuseUntrustedPath } from '../crypto/trusted-path.ts'
import type { Database } from '../database/database.ts'
import { toFatal } from '../database/failure.ts'
import { migrate, OlderSchema, requireSchema } from '../database/migrate.ts'
import { createNodeTable } from '../database/node-table.ts'
import { toPostgresUserError } from '../database/postgres-user-error.ts'
import { copyIfReadOnly, type ReadableFile } from '../database/read-only-copy.ts'
import { openSqlite } from '../database/sqlite.ts'
import { hasDatabase, toSqliteUserError } from '../database/sqlite-user-error.ts'
import { openWriter, type Writer } from '../database/sqlite-writer.ts'
import { toTimeLimits } from '../database/time-limits.ts'
import { UserError } from '../errors.ts'
import { toDatabasePlace } from '../settings/database-url.ts'
import { createTables, type Tables, WRITES } from './tables.ts'

/** The name of the SQLite database in the data folder. */
export const SQLITE_FILE = 'tabbat.db'

/**
 * The database of Tabbat: SQLite in the data folder, or PostgreSQL. This room alone speaks SQL; all others call the methods of
 * the tables (see tables.ts).
 *
 * What it guarantees:
 * - A method that resolves has committed, and the commit is on disk (`synchronous = FULL`, `synchronous_commit = on`).
 * - Each method is one transaction: all of it happens or nothing.
 * - Both databases give the same results; test/store runs one suite against both.
 * - The schema is brought up to date when the store is opened, unless `keepsSchema` is set. A newer schema is refused.
 *
 * Opened once by the context of a server, and by each command. In a server on SQLite, a thread does all writing: writes that
 * arrive during a commit share the next one, and each of them still succeeds or fails alone.
 */
export type Store = Tables & {
  readonly database: Database
  /** The path or address of the database, to be shown. Without a password. */
  readonly place: string
  /** The address of PostgreSQL. It may hold a password, so it is never shown. */
  readonly databaseUrl: string | undefined
  /** The file that SQLite has open: the database, or a copy of it where it is on a read-only file system. */
  readonly file: string
  readonly close: () => Promise<void>
}

export type StoreOptions = {
  readonly dataDir: string
  /** postgres://…; absent means SQLite in the data folder. */
  readonly databaseUrl: string | undefined
  /** For a server: SQLite is written by a thread, and calls to PostgreSQL have short timeouts. */
  readonly writerThread?: boolean
  /** Nothing will be written, so the database may be on a read-only file system or a standby. An older schema is brought up to date. */
  readonly isReading?: boolean
  /** Refuse an older schema (OlderSchema) instead of changing it. */
  readonly keepsSchema?: boolean
  /** Refuse to start instead of creating a new database in the data folder. */
  readonly mustExist?: boolean
  /** The data folder is a new one in the temporary folder, and is deleted at the end. */
  readonly isScratch?: boolean
  /** Called when any operation finds the database damaged or lost, or its disk failing: the process must stop. */
  readonly onFatal?: (error: unknown) => void
  /** How long a request may wait for the store. */
  readonly timeoutMs?: number
  /** At most this many connections to PostgreSQL. */
  readonly databaseConnections?: number
  /** How long to wait at the start until PostgreSQL can be reached. */
  readonly startWaitMs?: number
}

/** Commands may read whole tables. */
const COMMAND_LIMITS = { answerTimeoutMs: 15_000, statementTimeoutMs: HOUR_MS }

export async function openStore(options: StoreOptions): Promise<Store> {
  const { dataDir, databaseUrl, writerThread = false, mustExist = false, onFatal } = options
  const path = join(dataDir, SQLITE_FILE)
  if (!options.isScratch) refuseUntrustedData(options)
  if (mustExist && databaseUrl === undefined && !hasDatabase(path))
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
  const heartbeats = await openHeartbeats(options).catch(async (error) => {
    await database.close()
    throw error
  })
  const tables = writer
    ? withWriter(direct, writer)
    : { ...direct, ...(heartbeats && { nodes: createNodeTable(heartbeats) }) }
  return {
    ...tables,
    database,
    place: databaseUrl === undefined ? path : `postgres://${toDatabasePlace(databaseUrl)}`,
    databaseUrl,
    file,
    close: async () => {
      await writer?.close()
      await heartbeats?.close()
      await database.close()
      remove()
    },
  }
}

/** The folder is created before the check: in /tmp, another user could create it between the check and its first use. */
function refuseUntrustedData({ dataDir, databaseUrl, mustExist = false }: StoreOptions): void {
  // A second connection to PostgreSQL uses no folder.
  if (dataDir === '') return
  const path = join(dataDir, SQLITE_FILE)
  try {
    if (!mustExist) mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw toSqliteUserError(path, error)
  }
  refuseUntrustedFolder(dataDir)
  if (databaseUrl === undefined)
    for (const suffix of ['', '-wal', '-shm', '-journal']) refuseUntrustedPath(`${path}${suffix}`)
}

const toFile = (path: string, { databaseUrl, isReading }: StoreOptions): ReadableFile =>
  databaseUrl === undefined && isReading ? copyIfReadOnly(path) : { path, remove: () => {} }

async function openDatabase(
  path: string,
  options: StoreOptions,
  onFailure: (error: unknown) => void,
): Promise<Database> {
  const { databaseUrl, startWaitMs, writerThread, timeoutMs, databaseConnections } = options
  // One of them is for heartbeats.
  const connections = databaseConnections && Math.max(1, databaseConnections - 1)
  const limits = writerThread ? toTimeLimits(timeoutMs) : COMMAND_LIMITS
  // Loaded on demand: a server on SQLite starts faster without the driver.
  const database =
    databaseUrl === undefined
      ? openSqlite(path, timeoutMs)
      : await (await import('../database/postgres.ts')).openPostgres(databaseUrl, {
          ...{ startWaitMs, onFailure, connections },
          ...limits,
        })
  try {
    await prepareSchema(database, options)
    return database
  } catch (error) {
    await database.close()
    throw databaseUrl === undefined ? toSqliteUserError(path, error) : toPostgresUserError(databaseUrl, error)
  }
}

/** A present schema is not touched for reading: a standby of PostgreSQL refuses every statement that could write. */
async function prepareSchema(database: Database, { keepsSchema, isReading }: StoreOptions): Promise<void> {
  if (!keepsSchema && !isReading) return migrate(database)
  await requireSchema(database).catch((error) => {
    if (keepsSchema || !(error instanceof OlderSchema)) throw error
    return migrate(database)
  })
}

/** In a server on PostgreSQL, heartbeats have a connection of their own: requests that use all others must not make it look dead. */
async function openHeartbeats({ databaseUrl, writerThread, timeoutMs, startWaitMs }: StoreOptions) {
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
