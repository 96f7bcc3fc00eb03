import type { Database, Statement, Value } from '../../src/database/database.ts'

export type Recorded = { readonly sql: string; readonly values: readonly Value[] }

/** The same database; `recorded` gets every statement that is executed, with its values. */
export function recordStatements(database: Database, recorded: Recorded[]): Database {
  const prepare = (sql: string): Statement => {
    const statement = database.prepare(sql)
    return {
      ...statement,
      get: (...values) => {
        recorded.push({ sql, values })
        return statement.get(...values)
      },
      all: (...values) => {
        recorded.push({ sql, values })
        return statement.all(...values)
      },
    }
  }
  return {
    ...database,
    prepare,
    transaction: (work, options) =>
      database.transaction((tx) => work(recordStatements(tx, recorded)), options),
  }
}
