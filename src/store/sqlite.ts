import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Refusal } from '../errors.ts'
import type { Database, Row, Statement, Value } from './database.ts'

/** Older ones can corrupt a database when its write-ahead log is reset. */
const OLDEST_SQLITE = [3, 51, 3]

const UNWRITABLE = ['EACCES', 'EEXIST', 'ENOTDIR', 'EPERM', 'EROFS']

const PRAGMAS = `
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA trusted_schema = OFF;
  PRAGMA foreign_keys = ON;
  PRAGMA cache_size = -65536;
`

export type Sqlite = Database & {
  /** The same database for work that is already inside a transaction. */
  readonly inside: Database
  /** Statements that take no parameters and give no rows: BEGIN, SAVEPOINT, COMMIT. */
  readonly exec: (sql: string) => void
}

export function openSqlite(path: string): Sqlite {
  refuseOldSqlite()
  const connection = connect(path)
  const statements = new Map<string, StatementSync>()
  // While a transaction is open, statements that are not part of it wait: there is one connection.
  let transactionUnderWay: Promise<void> | undefined

  const prepareSync = (sql: string) => {
    const known = statements.get(sql)
    if (known) return known
    const prepared = connection.prepare(sql)
    statements.set(sql, prepared)
    return prepared
  }

  /** `held` names what a statement must wait for. Nothing is awaited between its last word and the statement. */
  const prepare = (sql: string, held: () => Promise<void> | undefined): Statement => {
    const statement = prepareSync(sql)
    return {
      get: async (...values) => {
        for (let wait = held(); wait; wait = held()) await wait
        return statement.get(toParameters(values)) as Row | undefined
      },
      all: async (...values) => {
        for (let wait = held(); wait; wait = held()) await wait
        return statement.all(toParameters(values)) as Row[]
      },
      run: async (...values) => {
        for (let wait = held(); wait; wait = held()) await wait
        return Number(statement.run(toParameters(values)).changes)
      },
    }
  }

  const transaction = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    while (transactionUnderWay) await transactionUnderWay
    const { promise, resolve } = Promise.withResolvers<void>()
    transactionUnderWay = promise
    try {
      connection.exec('BEGIN IMMEDIATE')
      const result = await work(inside)
      connection.exec('COMMIT')
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
    prepare: (sql) => prepare(sql, () => undefined),
    transaction: (work) => work(inside),
  }
  const exec = (sql: string) => connection.exec(sql)
  return { ...common, prepare: (sql) => prepare(sql, () => transactionUnderWay), transaction, inside, exec }
}

function connect(path: string): DatabaseSync {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const connection = new DatabaseSync(path)
    connection.exec(PRAGMAS)
    chmodSync(path, 0o600)
    return connection
  } catch (error) {
    throw toRefusal(path, error)
  }
}

function toRefusal(path: string, error: unknown): Refusal {
  const { code, errcode } = error as { code?: string; errcode?: number }
  if (errcode === 26 || errcode === 11)
    return new Refusal(
      `${path} is damaged or is not a Tabbat database. Restore a backup or move the file away.`,
    )
  if (errcode === 8 || errcode === 14 || UNWRITABLE.includes(code ?? ''))
    return new Refusal(
      `${path} cannot be opened for writing. Check the folder and its permissions, or set TABBAT_DATA_DIR.`,
    )
  return new Refusal(`${path} cannot be opened (${code ?? 'unknown error'}${errcode ? ` ${errcode}` : ''}).`)
}

function refuseOldSqlite(): void {
  const version = (process.versions.sqlite ?? '0').split('.').map(Number)
  const difference =
    OLDEST_SQLITE.map((part, index) => (version[index] ?? 0) - part).find((step) => step !== 0) ?? 0
  if (difference < 0)
    throw new Refusal(
      `SQLite ${process.versions.sqlite} can corrupt databases; ${OLDEST_SQLITE.join('.')} is needed. Run Tabbat with the Node.js that npm ci installs.`,
    )
}

function toParameters(values: Value[]): Record<string, Value> {
  const parameters: Record<string, Value> = {}
  for (let index = 0; index < values.length; index++) parameters[index + 1] = values[index] as Value
  return parameters
}
