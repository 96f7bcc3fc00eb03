import type { Database } from './database.ts'

/** Facts about the database itself. */
export type MetaTable = {
  readonly get: (name: 'root_fingerprint') => Promise<string | undefined>
  /** Keeps what is there: the first writer wins. */
  readonly insert: (name: 'root_fingerprint', value: string) => Promise<void>
}

export function createMetaTable(database: Database): MetaTable {
  const get = database.prepare('SELECT value FROM meta WHERE name = $1')
  const insert = database.prepare(
    'INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
  )
  return {
    get: async (name) => (await get.get(name))?.value as string | undefined,
    insert: async (name, value) => {
      await insert.run(name, value)
    },
  }
}
