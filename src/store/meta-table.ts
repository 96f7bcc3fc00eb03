import type { Database } from './database.ts'

export const META_NAMES = [
  'root_fingerprint',
  'root_version',
  'root_previous_fingerprint',
  'carried_keys',
] as const
export type MetaName = (typeof META_NAMES)[number]

export type Meta = { readonly [Name in MetaName]?: string }

/** Facts about the database itself. */
export type MetaTable = {
  /** All of them as they are at one moment. */
  readonly read: () => Promise<Meta>
  /** Keeps what is there: the first writer wins. */
  readonly insert: (name: MetaName, value: string) => Promise<void>
  /** All or none; undefined takes a fact away. */
  readonly set: (facts: { readonly [Name in MetaName]?: string | undefined }) => Promise<void>
  /** Writes and takes it back in one commit: fails when the database cannot be written now. */
  readonly checkWritable: () => Promise<void>
}

const DELETE = 'DELETE FROM meta WHERE name = $1'
const REPLACE = `INSERT INTO meta (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`

export function createMetaTable(database: Database): MetaTable {
  const all = database.prepare('SELECT name, value FROM meta')
  const insert = database.prepare(
    'INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
  )
  return {
    read: async () => Object.fromEntries((await all.all()).map(({ name, value }) => [name, value])),
    insert: async (name, value) => {
      await insert.run(name, value)
    },
    set: (facts) =>
      database.transaction(async (inside) => {
        for (const [name, value] of Object.entries(facts)) {
          if (value === undefined) await inside.prepare(DELETE).run(name)
          else await inside.prepare(REPLACE).run(name, value)
        }
      }),
    checkWritable: () =>
      database.transaction(async (inside) => {
        await inside.prepare(REPLACE).run('check', '')
        await inside.prepare(DELETE).run('check')
      }),
  }
}
