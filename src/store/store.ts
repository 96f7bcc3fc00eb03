import { join } from 'node:path'
import type { Database } from './database.ts'
import { createKeyTable, type KeyTable } from './key-table.ts'
import { createMetaTable, type MetaTable } from './meta-table.ts'
import { migrate } from './migrate.ts'
import { openSqlite } from './sqlite.ts'

/** What the program may ask of its database, grouped by table. */
export type Store = {
  readonly keys: KeyTable
  readonly meta: MetaTable
  /** All of it or nothing; the work is handed a whole store. */
  readonly transaction: <T>(work: (store: Store) => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

export async function openStore({ dataDir }: { readonly dataDir: string }): Promise<Store> {
  const database = openSqlite(join(dataDir, 'tabbat.db'))
  try {
    await migrate(database)
    return toStore(database)
  } catch (error) {
    await database.close()
    throw error
  }
}

function toStore(database: Database): Store {
  return {
    keys: createKeyTable(database),
    meta: createMetaTable(database),
    transaction: (work) => database.transaction((inside) => work(toStore(inside))),
    close: database.close,
  }
}
