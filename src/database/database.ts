export type Value = string | number | Uint8Array | null

export type Row = Readonly<Record<string, unknown>>

/** A prepared statement. Parameters are $1, $2, … in both dialects. */
export type Statement = {
  readonly get: (...values: Value[]) => Promise<Row | undefined>
  readonly all: (...values: Value[]) => Promise<Row[]>
  /** Resolves to the number of changed rows. */
  readonly run: (...values: Value[]) => Promise<number>
  /** The same for many sets of values, in order. Only inside a transaction: in SQLite it does not yield to the event loop. */
  readonly runAll: (sets: Iterable<Value[]>) => Promise<number>
}

/** A statement without promises. */
export type SyncStatement = {
  readonly get: (...values: Value[]) => Row | undefined
  readonly all: (...values: Value[]) => Row[]
  readonly run: (...values: Value[]) => number
}

/** SQLite runs inside the process, so a statement need not be awaited. */
export type SyncDatabase = {
  /** To be used inside a transaction, or inside `read`. */
  readonly prepare: (sql: string) => SyncStatement
  /** Reads now. A promise only if a transaction is open on this connection, or another process has locked the file. */
  readonly read: <T>(work: () => T) => T | Promise<T>
  /** Called after each commit, and after each rollback, also one of a part of a transaction. */
  readonly onEnd: (listener: (end: TransactionEnd) => void) => void
}

export type TransactionEnd = 'commit' | 'rollback'

export type TransactionOptions = {
  /** For work on whole tables: no short timeout. */
  readonly patient?: boolean
}

/** What both engines offer. The tables are written once, against this type. */
export type Database = {
  readonly dialect: 'sqlite' | 'postgres'
  readonly prepare: (sql: string) => Statement
  readonly transaction: <T>(
    work: (database: Database) => Promise<T>,
    options?: TransactionOptions,
  ) => Promise<T>
  /**
   * Inside a transaction: takes a named lock until the transaction ends, exclusive or shared. Does nothing in SQLite, which
   * has one writer at a time.
   */
  readonly lock: (name: string, share?: 'shared') => Promise<void>
  /** In SQLite. */
  readonly sync?: SyncDatabase
  /** In PostgreSQL, inside a transaction: sends the data of a COPY … FROM STDIN. */
  readonly copyIn?: (sql: string, data: Uint8Array) => Promise<void>
  readonly close: () => Promise<void>
}
