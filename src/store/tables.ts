import { type AttemptTable, createAttemptTable } from './attempt-table.ts'
import type { Database } from './database.ts'
import { createKeyTable, type KeyTable } from './key-table.ts'
import { createMetaTable, type MetaTable } from './meta-table.ts'
import { createRegistryTable, type RegistryTable } from './registry-table.ts'

/** What the program may ask of its database, grouped by table. Absent is undefined. */
export type Tables = {
  readonly keys: KeyTable
  readonly meta: MetaTable
  readonly registry: RegistryTable
  readonly attempts: AttemptTable
}

export const createTables = (database: Database): Tables => ({
  keys: createKeyTable(database),
  meta: createMetaTable(database),
  registry: createRegistryTable(database),
  attempts: createAttemptTable(database),
})

/** The methods that write. In a server on SQLite they run in a thread of their own, so that no request waits for the disk. */
export const WRITES: { readonly [Table in keyof Tables]: readonly (keyof Tables[Table])[] } = {
  keys: ['insert', 'revoke', 'roll'],
  meta: ['insert', 'set'],
  registry: ['save', 'erase', 'finishImport'],
  attempts: ['recordFailure', 'admitSubject', 'forget'],
}
