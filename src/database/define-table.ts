import type { Database, Row, Statement, SyncDatabase, SyncStatement, Value } from './database.ts'

/** What reading needs: a write among the reads of a table does not compile. */
export type Reader = Pick<Database, 'dialect'> & {
  readonly prepare: (sql: string) => Pick<Statement, 'get' | 'all'>
  readonly sync?: Pick<SyncDatabase, 'read'> & {
    readonly prepare: (sql: string) => Pick<SyncStatement, 'get' | 'all'>
  }
}

/** Sent to a thread, so arguments and results are data. */
type WritingMethods = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>

type Send = (method: string, args: readonly unknown[]) => Promise<unknown>

export type Table<Methods> = {
  readonly create: (database: Database) => Methods
  /** Reads by this connection. Each writing method is sent to another. */
  readonly createReader: (database: Database, send: Send) => Methods
}

export type TableOf<Definition> = Definition extends Table<infer Methods> ? Methods : never

/** The methods of a table. Which of them write follows from where they are written. */
export function defineTable<Reads = unknown, Writes extends WritingMethods = Record<never, never>>({
  reads,
  writes,
}: {
  readonly reads?: (database: Reader) => Reads
  readonly writes?: (database: Database) => Writes
}): Table<Reads & Writes> {
  const toRemote = (database: Database, send: Send) =>
    Object.keys(writes?.(database) ?? {}).map((method) => [
      method,
      (...args: readonly unknown[]) => send(method, args),
    ])
  return {
    create: (database) => ({ ...reads?.(database), ...writes?.(database) }) as Reads & Writes,
    createReader: (database, send) =>
      ({ ...reads?.(database), ...Object.fromEntries(toRemote(database, send)) }) as Reads & Writes,
  }
}

/** How a value of a row is stored. */
export type Column<T> = {
  /** If it is not that of the row in snake case. */
  readonly name?: string
  readonly decode: (stored: unknown) => T
  readonly encode: (value: T) => Value
}

export const text = <T extends string = string>(): Column<T> => ({
  decode: (stored) => String(stored) as T,
  encode: (value) => value,
})

export const number = (): Column<number> => ({ decode: Number, encode: (value) => value })

export const bytes = (): Column<Uint8Array> => ({
  decode: (stored) => stored as Uint8Array,
  encode: (value) => value,
})

export const flag = (): Column<boolean> => ({
  decode: (stored) => Number(stored) === 1,
  encode: (value) => (value ? 1 : 0),
})

export const json = <T>(): Column<T> => ({
  decode: (stored) => JSON.parse(String(stored)) as T,
  encode: (value) => JSON.stringify(value),
})

/** Texts without commas. */
export const list = <T extends string = string>(): Column<readonly T[]> => ({
  decode: (stored) => (stored === '' ? [] : (String(stored).split(',') as T[])),
  encode: (value) => value.join(','),
})

export const optional = <T>({ decode, encode, ...column }: Column<T>): Column<T | undefined> => ({
  ...column,
  decode: (stored) => (stored === null || stored === undefined ? undefined : decode(stored)),
  encode: (value) => (value === undefined ? null : encode(value)),
})

export const named = <T>(name: string, column: Column<T>): Column<T> => ({ ...column, name })

type Columns = Readonly<Record<string, Pick<Column<unknown>, 'decode'>>>

type ColumnsRow<C extends Columns> = { readonly [Name in keyof C]: ReturnType<C[Name]['decode']> }

export type RowOf<Described> = Described extends { readonly encode: (row: infer R) => Value[] } ? R : never

/** The columns of a row: their names for SELECT and INSERT, and how a row is read and written. */
export function defineColumns<C extends Columns>(columns: C) {
  const described = Object.entries(columns as unknown as Readonly<Record<string, Column<unknown>>>).map(
    ([key, column]) => ({ key, ...column, name: column.name ?? toSnakeCase(key) }),
  )
  return {
    /** Listed: PostgreSQL fails a prepared `SELECT *` when another node adds a column. */
    names: described.map(({ name }) => name).join(', '),
    /** $1, $2 and so on. */
    places: described.map((_column, index) => `$${index + 1}`).join(', '),
    decode: <Found extends Row | undefined>(row: Found): ColumnsRow<C> | Extract<Found, undefined> => {
      if (row === undefined) return row as Extract<Found, undefined>
      const decoded: Record<string, unknown> = {}
      for (const { key, name, decode } of described) decoded[key] = decode(row[name])
      return decoded as ColumnsRow<C>
    },
    /** In the order of the names. */
    encode: (row: ColumnsRow<C>): Value[] =>
      described.map(({ key, encode }) => encode((row as Record<string, unknown>)[key])),
  }
}

const toSnakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
