import { join } from 'node:path'
import type { Database } from './database.ts'
import { migrate } from './migrate.ts'
import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'
import { openWriter, type Writer } from './sqlite-writer.ts'
import { createTables, type Tables, WRITES } from './tables.ts'

export type Store = Tables & {
  readonly database: Database
  /** Where the data lies, for people; without a password. */
  readonly place: string
  /** Fails when the store cannot be written now. */
  readonly checkWritable: () => Promise<void>
  readonly close: () => Promise<void>
}

export type StoreOptions = {
  readonly dataDir: string
  /** postgres://…; absent means SQLite in the data folder. */
  readonly databaseUrl: string | undefined
  /** A server gives writing in SQLite a thread of its own. */
  readonly writerThread?: boolean
}

export async function openStore({
  dataDir,
  databaseUrl,
  writerThread = false,
}: StoreOptions): Promise<Store> {
  const path = join(dataDir, 'tabbat.db')
  const database = databaseUrl === undefined ? openSqlite(path) : await openPostgres(databaseUrl)
  try {
    await migrate(database)
  } catch (error) {
    await database.close()
    throw error
  }
  const writer = databaseUrl === undefined && writerThread ? openWriter(path) : undefined
  const tables = createTables(database)
  return {
    ...(writer ? withWriter(tables, writer) : tables),
    database,
    place: databaseUrl === undefined ? path : toPlace(databaseUrl),
    checkWritable: () => database.transaction((inside) => inside.lock('check')),
    close: async () => {
      await writer?.close()
      await database.close()
    },
  }
}

/** The same tables, whose writing methods are carried out by the writer's thread. */
function withWriter(tables: Tables, writer: Writer): Tables {
  const entries = Object.entries(WRITES).map(([name, methods]) => {
    const table = name as keyof Tables
    const remote = methods.map((method) => [
      method,
      (...args: unknown[]) => writer.call({ table, method, args }),
    ])
    return [table, { ...tables[table], ...Object.fromEntries(remote) }]
  })
  return Object.fromEntries(entries) as Tables
}

function toPlace(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl)
  return `postgres://${hostname}${port && `:${port}`}${pathname}`
}
