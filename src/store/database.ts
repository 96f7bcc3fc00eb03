export type Value = string | number | Uint8Array | null

export type Row = Readonly<Record<string, unknown>>

/** A prepared statement. Parameters are $1, $2, … in both dialects. */
export type Statement = {
  readonly get: (...values: Value[]) => Promise<Row | undefined>
  readonly all: (...values: Value[]) => Promise<Row[]>
  /** How many rows were changed. */
  readonly run: (...values: Value[]) => Promise<number>
  /** The same for many sets of values, one after another; in SQLite without a pause, so inside a transaction only. */
  readonly runAll: (sets: Iterable<Value[]>) => Promise<number>
}

export type TransactionOptions = {
  /** For work on whole tables, which may take longer than a request can wait. */
  readonly patient?: boolean
}

/** What every engine offers to the tables: SQL is written once, above this line. */
export type Database = {
  readonly dialect: 'sqlite' | 'postgres'
  readonly prepare: (sql: string) => Statement
  readonly transaction: <T>(
    work: (database: Database) => Promise<T>,
    options?: TransactionOptions,
  ) => Promise<T>
  /**
   * Inside a transaction: until it ends, nobody else holds the same name; those who share it hold it together. SQLite has
   * one writer at a time anyway.
   */
  readonly lock: (name: string, share?: 'shared') => Promise<void>
  readonly close: () => Promise<void>
}
