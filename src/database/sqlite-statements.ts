import type { DatabaseSync } from 'node:sqlite'
import type { Row, Statement, SyncStatement, TransactionEnd, Value } from './database.ts'

/** Prepares each statement once. */
export function createPrepare(connection: DatabaseSync): (sql: string) => Prepared {
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
export function createTransactionControl(connection: DatabaseSync) {
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

export const toSyncStatement = ({ get, all, run }: Prepared): SyncStatement => ({
  get: (...values) => get(values),
  all: (...values) => all(values),
  run: (...values) => run(values),
})

export const toTxStatement = (statement: Prepared): Statement => ({
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

/** Binds parameters by position: binding by name costs as much as the statement itself. */
function toPrepared(connection: DatabaseSync, sql: string): Prepared {
  const order = [...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number) - 1)
  const statement = connection.prepare(sql.replaceAll(/\$\d+/g, '?'))
  const isInOrder = order.every((parameter, index) => parameter === index)
  const bind = (values: Value[]) => (isInOrder ? values : order.map((index) => values[index] as Value))
  return {
    get: (values) => statement.get(...bind(values)) as Row | undefined,
    all: (values) => statement.all(...bind(values)) as Row[],
    run: (values) => Number(statement.run(...bind(values)).changes),
  }
}
