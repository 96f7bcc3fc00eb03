import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { UserError } from '../errors.ts'
import type { Database, Row, Statement, TransactionOptions, Value } from './database.ts'
import { createFileCheck } from './sqlite-files.ts'
import { isBusy, toSqliteUserError } from './sqlite-user-error.ts'

/** Older ones can corrupt a database when its write-ahead log is reset. */
const OLDEST_SQLITE = [3, 51, 3]

/** How long others may write before we give up, and how often we ask. */
const BUSY_WAIT_MS = 5000
const PATIENT_WAIT_MS = 600_000
const BUSY_PAUSE_MS = 2

const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA trusted_schema = OFF;
  PRAGMA foreign_keys = ON;
  PRAGMA secure_delete = ON;
  PRAGMA cache_size = -65536;
`

export type Sqlite = Database & {
  /** The same database for work that is already inside a transaction. */
  readonly inside: Database
  /** Statements that take no parameters and give no rows: BEGIN, SAVEPOINT, COMMIT. */
  readonly exec: (sql: string) => void
  /** Throws when the files were removed, replaced or cut short behind our back. */
  readonly checkFiles: () => void
}

export function openSqlite(path: string, timeoutMs = BUSY_WAIT_MS): Sqlite {
  // A little less, so that there is time to answer those who wait.
  const busyWaitMs = timeoutMs * 0.95
  refuseOldSqlite()
  const connection = connect(path)
  const statements = new Map<string, Prepared>()
  const { check: checkFiles } = createFileCheck(path, () => countFrames(connection))
  checkFiles()
  // While a transaction is open, statements that are not part of it wait: there is one connection.
  let transactionUnderWay: Promise<void> | undefined

  const prepareSync = (sql: string) => {
    const known = statements.get(sql)
    if (known) return known
    const prepared = toPrepared(connection, sql)
    statements.set(sql, prepared)
    return prepared
  }

  /** For statements beside a transaction. Nothing is awaited between the last look at it and the statement. */
  const ask = <T>(work: () => T) => whenFree(busyWaitMs, () => transactionUnderWay, work)
  const prepare = (sql: string): Statement => {
    const statement = prepareSync(sql)
    return {
      get: (...values) => ask(() => statement.get(values)),
      all: (...values) => ask(() => statement.all(values)),
      run: (...values) =>
        ask(() => {
          const changed = statement.run(values)
          checkFiles()
          return changed
        }),
      runAll: async () => {
        throw new Error('many rows are written in a transaction only')
      },
    }
  }
  const prepareInside = (sql: string) => toStatementInside(prepareSync(sql))

  const transaction = async <T>(
    work: (database: Database) => Promise<T>,
    { patient = false }: TransactionOptions = {},
  ): Promise<T> => {
    while (transactionUnderWay) await transactionUnderWay
    const { promise, resolve } = Promise.withResolvers<void>()
    transactionUnderWay = promise
    try {
      // Before as well: a log that was cut short is long again after the next write.
      checkFiles()
      const begin = () => connection.exec('BEGIN IMMEDIATE')
      await whenFree(patient ? PATIENT_WAIT_MS : busyWaitMs, () => undefined, begin)
      const result = await work(inside)
      connection.exec('COMMIT')
      // Durable in the file that was opened, which may not be the one at the path any more.
      checkFiles()
      return result
    } catch (error) {
      if (connection.isTransaction) connection.exec('ROLLBACK')
      throw error
    } finally {
      transactionUnderWay = undefined
      resolve()
    }
  }

  const close = async () => {
    while (transactionUnderWay) await transactionUnderWay
    connection.close()
  }
  const common = { dialect: 'sqlite' as const, lock: async () => {}, close }
  const inside: Database = {
    ...common,
    prepare: prepareInside,
    transaction: (work) => work(inside),
  }
  const exec = (sql: string) => connection.exec(sql)
  return { ...common, prepare, transaction, inside, exec, checkFiles }
}

const toStatementInside = (statement: Prepared): Statement => ({
  get: async (...values) => statement.get(values),
  all: async (...values) => statement.all(values),
  run: async (...values) => statement.run(values),
  runAll: async (sets) => {
    let changed = 0
    for (const values of sets) changed += statement.run(values)
    return changed
  },
})

/**
 * Does the work when nothing holds it up and no other connection writes. Others are waited for without stopping the event
 * loop, for the other connection may belong to this very thread.
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

function connect(path: string): DatabaseSync {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // The write-ahead log takes its permissions from the file, so they are set before there is a log. A file that exists
    // is not opened here: closing it would drop the locks that another connection of this process holds on it.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
    chmodSync(path, 0o600)
    const connection = new DatabaseSync(path, { timeout: BUSY_WAIT_MS })
    connection.exec(PRAGMAS)
    // From here on we wait ourselves.
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

type Prepared = {
  readonly get: (values: Value[]) => Row | undefined
  readonly all: (values: Value[]) => Row[]
  readonly run: (values: Value[]) => number
}

/** Parameters are bound in the order of the text: by name, binding them would cost as much as the statement itself. */
function toPrepared(connection: DatabaseSync, sql: string): Prepared {
  const order = [...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number) - 1)
  const statement = connection.prepare(sql.replaceAll(/\$\d+/g, '?'))
  const bind = (values: Value[]) => order.map((index) => values[index] as Value)
  return {
    get: (values) => statement.get(...bind(values)) as Row | undefined,
    all: (values) => statement.all(...bind(values)) as Row[],
    run: (values) => Number(statement.run(...bind(values)).changes),
  }
}
