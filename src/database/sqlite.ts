import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { makeFolderSync } from '../crypto/make-folder.ts'
import { UserError } from '../errors.ts'
import type {
  Database,
  Row,
  Statement,
  SyncDatabase,
  SyncStatement,
  TransactionEnd,
  TransactionOptions,
  Value,
} from './database.ts'
import { createFileCheck } from './sqlite-files.ts'
import { isBusy, toSqliteUserError } from './sqlite-user-error.ts'

/** Older versions can corrupt a database when the write-ahead log is reset. */
const OLDEST_SQLITE = [3, 51, 3]

/** How long to wait for other writers, and the pause between two attempts. */
const BUSY_WAIT_MS = 5000
const PATIENT_WAIT_MS = 600_000
const BUSY_PAUSE_MS = 2

/** Pages of the write-ahead log (32 MB) before they are copied to the database: a page that changes often is copied once. */
const CHECKPOINT_PAGES = 8000
/** The log grows while a backup reads. Afterwards the file is cut to this size. A frame is a page of 4096 bytes and its header. */
const MAX_IDLE_LOG_BYTES = CHECKPOINT_PAGES * 4120

/**
 * 8 MB. After a commit that split a page, SQLite goes through the whole table of cached pages: with 64 MB, such a commit takes
 * 0.4 ms longer. The reader's pages are dropped with every commit of the writer anyway; the system keeps the files in memory.
 */
const CACHE_KIB = 8192

const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA trusted_schema = OFF;
  PRAGMA foreign_keys = ON;
  PRAGMA secure_delete = ON;
  PRAGMA cache_size = -${CACHE_KIB};
  PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
  PRAGMA journal_size_limit = ${MAX_IDLE_LOG_BYTES};
`

export type Sqlite = Database & {
  /** The same database for code that already runs inside a transaction. */
  readonly tx: Database
  /** Statements that take no parameters and give no rows: BEGIN, SAVEPOINT, COMMIT. */
  readonly exec: (sql: string) => void
  /** Throws when the files were removed, replaced or truncated by another program. */
  readonly checkFiles: () => void
  /** Frames of the write-ahead log that are not in the database yet. */
  readonly countPendingFrames: () => number
}

type SqliteOptions = {
  readonly timeoutMs?: number | undefined
  /** Refuse to create a new database: for a further connection to one that is in use. */
  readonly mustExist?: boolean | undefined
}

export function openSqlite(
  path: string,
  { timeoutMs = BUSY_WAIT_MS, mustExist = false }: SqliteOptions = {},
): Sqlite {
  // A little less, to leave time for the response.
  const busyWaitMs = timeoutMs * 0.95
  refuseOldSqlite()
  const connection = connect(path, mustExist)
  const prepareSync = createPrepare(connection)
  const { exec, rollBack, onEnd } = createTransactionControl(connection)
  const { check: checkFiles } = createFileCheck(path, () => countFrames(connection))
  checkFiles()
  // Statements outside an open transaction wait for its end: there is one connection.
  let transactionUnderWay: Promise<void> | undefined

  /** For statements outside a transaction. Nothing is awaited between the last check for one and the statement. */
  const runWhenFree = <T>(work: () => T) => whenFree(busyWaitMs, () => transactionUnderWay, work)
  const prepare = (sql: string): Statement => {
    const statement = prepareSync(sql)
    return {
      get: (...values) => runWhenFree(() => statement.get(values)),
      all: (...values) => runWhenFree(() => statement.all(values)),
      run: (...values) =>
        runWhenFree(() => {
          const changed = statement.run(values)
          checkFiles()
          return changed
        }),
      runAll: async () => {
        throw new Error('runAll can only be called inside a transaction')
      },
    }
  }
  const prepareInTx = (sql: string) => toTxStatement(prepareSync(sql))

  const transaction = async <T>(
    work: (database: Database) => Promise<T>,
    { patient = false }: TransactionOptions = {},
  ): Promise<T> => {
    while (transactionUnderWay) await transactionUnderWay
    const { promise, resolve } = Promise.withResolvers<void>()
    transactionUnderWay = promise
    try {
      // Also before: a truncated log grows again with the next write.
      checkFiles()
      const begin = () => exec('BEGIN IMMEDIATE')
      await whenFree(patient ? PATIENT_WAIT_MS : busyWaitMs, () => undefined, begin)
      const result = await work(tx)
      exec('COMMIT')
      // The commit is durable in the open file, which may no longer be the one at the path.
      checkFiles()
      return result
    } catch (error) {
      rollBack()
      throw error
    } finally {
      transactionUnderWay = undefined
      resolve()
    }
  }

  const sync: SyncDatabase = {
    prepare: (sql) => toSyncStatement(prepareSync(sql)),
    read: (work) => (transactionUnderWay ? runWhenFree(work) : readNow(work, runWhenFree)),
    onEnd,
  }
  const close = async () => {
    while (transactionUnderWay) await transactionUnderWay
    connection.close()
  }
  const common = { dialect: 'sqlite' as const, lock: async () => {}, close }
  const tx: Database = {
    ...common,
    prepare: prepareInTx,
    transaction: (work) => work(tx),
    sync: { ...sync, read: (work) => work() },
  }
  const frames = connection.prepare('PRAGMA wal_checkpoint(NOOP)')
  const countPendingFrames = () => {
    try {
      const { log, checkpointed } = frames.get() as { log: number; checkpointed: number }
      return log - checkpointed
    } catch {
      // Locked by another process: counted after the next commit.
      return 0
    }
  }
  return { ...common, prepare, transaction, sync, tx, exec, checkFiles, countPendingFrames }
}

function readNow<T>(work: () => T, readLater: (work: () => T) => Promise<T>): T | Promise<T> {
  try {
    return work()
  } catch (error) {
    if (!isBusy(error)) throw error
  }
  return readLater(work)
}

/**
 * Runs the work when `held` is done and no other connection writes. Waits without blocking the event loop, because the other
 * connection may belong to this thread.
 */
async function whenFree<T>(waitMs: number, held: () => Promise<void> | undefined, work: () => T): Promise<T> {
  let until: number | undefined
  for (;;) {
    for (let wait = held(); wait; wait = held()) await wait
    try {
      return work()
    } catch (error) {
      until ??= performance.now() + waitMs
      if (!isBusy(error) || performance.now() > until) throw error
    }
    await pause(BUSY_PAUSE_MS)
  }
}

function connect(path: string, mustExist: boolean): DatabaseSync {
  try {
    if (!mustExist) makeFolderSync(dirname(path))
    // The write-ahead log takes its permissions from the file, so they are set before the log is created. An existing file
    // is not opened here: closing it would drop the locks of another connection of this process.
    if (!mustExist && !existsSync(path)) closeSync(openSync(path, 'a', 0o600))
    // Throws when the file is missing.
    chmodSync(path, 0o600)
    const connection = new DatabaseSync(path, { timeout: BUSY_WAIT_MS })
    connection.exec(PRAGMAS)
    // From here on, whenFree does the waiting.
    connection.exec('PRAGMA busy_timeout = 0')
    return connection
  } catch (error) {
    throw toSqliteUserError(path, error)
  }
}

function countFrames(connection: DatabaseSync) {
  const { log } = connection.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number }
  const { page_size: pageSize } = connection.prepare('PRAGMA page_size').get() as { page_size: number }
  return { count: log, pageSize }
}

export function refuseOldSqlite(given = process.versions.sqlite ?? '0'): void {
  const version = given.split('.').map(Number)
  const difference =
    OLDEST_SQLITE.map((part, index) => (version[index] ?? 0) - part).find((step) => step !== 0) ?? 0
  if (difference < 0)
    throw new UserError(
      `SQLite ${given} can corrupt databases; ${OLDEST_SQLITE.join('.')} is needed. Run Tabbat with the Node.js that npm ci installs.`,
    )
}

/** Prepares each statement once. */
function createPrepare(connection: DatabaseSync): (sql: string) => Prepared {
  const statements = new Map<string, Prepared>()
  return (sql) => {
    const known = statements.get(sql)
    if (known) return known
    const prepared = toPrepared(connection, sql)
    statements.set(sql, prepared)
    return prepared
  }
}

/** BEGIN, SAVEPOINT, COMMIT and so on, and the listeners to their ends. */
function createTransactionControl(connection: DatabaseSync) {
  const listeners: ((end: TransactionEnd) => void)[] = []
  const tell = (end: TransactionEnd) => {
    for (const listener of listeners) listener(end)
  }
  const exec = (sql: string) => {
    connection.exec(sql)
    if (sql.startsWith('ROLLBACK')) tell('rollback')
    if (sql === 'COMMIT') tell('commit')
  }
  const rollBack = () => {
    if (connection.isTransaction) exec('ROLLBACK')
    // SQLite has rolled back by itself.
    else tell('rollback')
  }
  return { exec, rollBack, onEnd: (listener: (end: TransactionEnd) => void) => void listeners.push(listener) }
}

const toSyncStatement = ({ get, all, run }: Prepared): SyncStatement => ({
  get: (...values) => get(values),
  all: (...values) => all(values),
  run: (...values) => run(values),
})

const toTxStatement = (statement: Prepared): Statement => ({
  get: async (...values) => statement.get(values),
  all: async (...values) => statement.all(values),
  run: async (...values) => statement.run(values),
  runAll: async (sets) => {
    let changed = 0
    for (const values of sets) changed += statement.run(values)
    return changed
  },
})

type Prepared = {
  readonly get: (values: Value[]) => Row | undefined
  readonly all: (values: Value[]) => Row[]
  readonly run: (values: Value[]) => number
}

/**
 * Compiled when it is first used: a command uses a few of the statements of all tables, and compiling all takes as long
 * as the rest of opening the database. Parameters are bound by position: binding by name costs as much as the statement itself.
 */
function toPrepared(connection: DatabaseSync, sql: string): Prepared {
  let compiled: Compiled | undefined
  const compile = () => {
    compiled ??= toCompiled(connection, sql)
    return compiled
  }
  return {
    get: (values) => {
      const { statement, bind } = compile()
      return statement.get(...bind(values)) as Row | undefined
    },
    all: (values) => {
      const { statement, bind } = compile()
      return statement.all(...bind(values)) as Row[]
    },
    run: (values) => {
      const { statement, bind } = compile()
      return Number(statement.run(...bind(values)).changes)
    },
  }
}

type Compiled = { readonly statement: StatementSync; readonly bind: (values: Value[]) => Value[] }

function toCompiled(connection: DatabaseSync, sql: string): Compiled {
  const order = [...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number) - 1)
  const isInOrder = order.every((parameter, index) => parameter === index)
  return {
    statement: connection.prepare(sql.replaceAll(/\$\d+/g, '?')),
    bind: (values) => (isInOrder ? values : order.map((index) => values[index] as Value)),
  }
}
