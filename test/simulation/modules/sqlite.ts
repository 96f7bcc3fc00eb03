import { DatabaseSync as RealDatabase, type StatementSync } from 'node:sqlite'
import { disk } from '../disk.ts'
import { processOf } from '../world.ts'

export * from 'node:sqlite'

/** The real SQLite. Before every statement the simulated disk decides whether it succeeds, and whether the process survives it. */
export class DatabaseSync extends RealDatabase {
  constructor(path: string, ...options: [options?: object]) {
    super(path, ...(options as []))
    disk.opened(path, this, processOf.getStore())
  }

  override exec(sql: string): void {
    disk.perform(this, sql, () => super.exec(sql))
  }

  override prepare(sql: string): StatementSync {
    const statement = super.prepare(sql)
    for (const name of ['get', 'all', 'run'] as const) {
      const real = statement[name].bind(statement) as (...values: unknown[]) => unknown
      Object.assign(statement, {
        [name]: (...values: unknown[]) => disk.perform(this, sql, () => real(...values)),
      })
    }
    return statement
  }

  override close(): void {
    disk.closed(this)
    if (this.isOpen) super.close()
  }
}
