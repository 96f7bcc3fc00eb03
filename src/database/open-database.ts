import { join } from 'node:path'
import { HOUR_MS } from '../contract/time.ts'
import { makeFolderSync } from '../crypto/make-folder.ts'
import { refuseUntrustedFolder, refuseUntrustedPath } from '../crypto/trusted-path.ts'
import { UserError } from '../errors.ts'
import { toDatabasePlace } from '../settings/database-url.ts'
import type { Database } from './database.ts'
import { toFatal } from './failure.ts'
import { migrate, OlderSchema, requireSchema } from './migrate.ts'
import { toPostgresUserError } from './postgres-user-error.ts'
import { copyIfReadOnly, type ReadableFile } from './read-only-copy.ts'
import { openSqlite } from './sqlite.ts'
import { hasDatabase, toSqliteUserError } from './sqlite-user-error.ts'
import { toTimeLimits } from './time-limits.ts'

/** The name of the SQLite database in the data folder. */
export const SQLITE_FILE = 'tabbat.db'

/** An open connection, and where it leads. */
export type OpenDatabase = {
  readonly database: Database
  /** The path or address of the database, to be shown. Without a password. */
  readonly place: string
  /** The address of PostgreSQL. It may hold a password, so it is never shown. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  /** The file that SQLite has open: the database, or a copy of it where it is on a read-only file system. */
  readonly file: string
  readonly close: () => Promise<void>
}

export type DatabaseOptions = {
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
  /** Called once if the schema of PostgreSQL cannot be changed yet, because another transaction uses the tables. */
  readonly onSchemaWait?: () => void
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

/**
 * Opens SQLite in the data folder, or PostgreSQL. The schema is brought up to date, unless `keepsSchema` is set. A newer schema
 * is refused.
 */
export async function openDatabase(options: DatabaseOptions): Promise<OpenDatabase> {
  const { dataDir, databaseUrl, mustExist = false } = options
  const path = join(dataDir, SQLITE_FILE)
  if (!options.isScratch) refuseUntrustedData(options)
  if (mustExist && databaseUrl === undefined && !hasDatabase(path))
    throw new UserError(
      `There is no database at ${path}. Run this where the server runs, or set TABBAT_DATA_DIR.`,
    )
  const { path: file, remove } = toFile(path, options)
  const database = await openEngine(file, options, toFailureListener(options)).catch((error) => {
    remove()
    throw error
  })
  return {
    database,
    place: databaseUrl === undefined ? path : `postgres://${toDatabasePlace(databaseUrl)}`,
    databaseUrl,
    dataDir,
    file,
    close: async () => {
      await database.close()
      remove()
    },
  }
}

/** Tells of the failures after which the process must stop. */
export const toFailureListener =
  ({ onFatal }: Pick<DatabaseOptions, 'onFatal'>) =>
  (error: unknown): void => {
    if (toFatal(error)) onFatal?.(error)
  }

/** The folder is created before the check: in /tmp, another user could create it between the check and its first use. */
function refuseUntrustedData({ dataDir, databaseUrl, mustExist = false }: DatabaseOptions): void {
  const path = join(dataDir, SQLITE_FILE)
  try {
    if (!mustExist) makeFolderSync(dataDir)
  } catch (error) {
    throw toSqliteUserError(path, error)
  }
  refuseUntrustedFolder(dataDir)
  if (databaseUrl === undefined)
    for (const suffix of ['', '-wal', '-shm', '-journal']) refuseUntrustedPath(`${path}${suffix}`)
}

const toFile = (path: string, { databaseUrl, isReading }: DatabaseOptions): ReadableFile =>
  databaseUrl === undefined && isReading ? copyIfReadOnly(path) : { path, remove: () => {} }

async function openEngine(
  path: string,
  options: DatabaseOptions,
  onFailure: (error: unknown) => void,
): Promise<Database> {
  const { dataDir, databaseUrl, startWaitMs, writerThread, timeoutMs, databaseConnections, mustExist } =
    options
  // One of them is for heartbeats.
  const connections = databaseConnections && Math.max(1, databaseConnections - 1)
  const limits = writerThread ? toTimeLimits(timeoutMs) : COMMAND_LIMITS
  // Loaded on demand: a server on SQLite starts faster without the driver.
  const database =
    databaseUrl === undefined
      ? openSqlite(path, { timeoutMs, mustExist })
      : await (await import('./postgres.ts')).openPostgres(databaseUrl, {
          dataDir,
          startWaitMs,
          onFailure,
          connections,
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
async function prepareSchema(
  database: Database,
  { keepsSchema, isReading, onSchemaWait }: DatabaseOptions,
): Promise<void> {
  if (!keepsSchema && !isReading) return migrate(database, onSchemaWait)
  await requireSchema(database).catch((error) => {
    if (keepsSchema || !(error instanceof OlderSchema)) throw error
    return migrate(database, onSchemaWait)
  })
}
