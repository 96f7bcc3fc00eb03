import type { Database } from './database.ts'

const META_NAMES = [
  'root_fingerprint',
  'root_version',
  'root_previous_fingerprint',
  'carried_keys',
  'created_at',
  'last_backup_at',
  'last_scrub_at',
  'revocations_noted_at',
] as const
type MetaName = (typeof META_NAMES)[number]

export type Meta = { readonly [Name in MetaName]?: string }

/** Facts about the database itself, such as which root key it belongs to. */
export type MetaTable = {
  /** All facts, read in one statement. */
  readonly read: () => Promise<Meta>
  /** Keeps an existing value: the first writer wins. */
  readonly insert: (name: MetaName, value: string) => Promise<void>
  /** Sets all or none; undefined deletes a fact. */
  readonly set: (facts: { readonly [Name in MetaName]?: string | undefined }) => Promise<void>
  /** Sets a number that only grows: to this one or, if it is not smaller already, to the next. Returns it. */
  readonly raise: (name: MetaName, least: number) => Promise<number>
}

const DELETE = 'DELETE FROM meta WHERE name = $1'
const REPLACE = `INSERT INTO meta (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`
const RAISE = `INSERT INTO meta (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = CASE
    WHEN CAST(meta.value AS BIGINT) < CAST(excluded.value AS BIGINT) THEN excluded.value
    ELSE CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT) END
  RETURNING value`

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
      database.transaction(async (tx) => {
        for (const [name, value] of Object.entries(facts)) {
          if (value === undefined) await tx.prepare(DELETE).run(name)
          else await tx.prepare(REPLACE).run(name, value)
        }
      }),
    raise: (name, least) =>
      database.transaction(async (tx) => Number((await tx.prepare(RAISE).get(name, String(least)))?.value)),
  }
}
