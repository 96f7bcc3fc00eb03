import { defineTable, type TableOf } from './define-table.ts'

const META_NAMES = [
  'root_fingerprint',
  'root_version',
  'root_previous_fingerprint',
  'carried_keys',
  'created_at',
  'last_backup_at',
  'last_backup_bytes',
  // Of `tabbat backup check`: when, good or bad, and of when that backup is.
  'last_backup_check_at',
  'last_backup_check_result',
  'last_backup_check_of',
  'last_scrub_at',
  'revocations_noted_at',
  'demo_made_at',
] as const
type MetaName = (typeof META_NAMES)[number]

export type Meta = { readonly [Name in MetaName]?: string }

/** Whether `tabbat demo` made the data. */
export const isDemo = ({ demo_made_at }: Meta): boolean => demo_made_at !== undefined

const DELETE = 'DELETE FROM meta WHERE name = $1'
const REPLACE = `INSERT INTO meta (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`
const RAISE = `INSERT INTO meta (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = CASE
    WHEN CAST(meta.value AS BIGINT) < CAST(excluded.value AS BIGINT) THEN excluded.value
    ELSE CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT) END
  RETURNING value`

/** Facts about the database itself, such as which root key it belongs to. */
export const metaTable = defineTable({
  reads: (database) => {
    const all = database.prepare('SELECT name, value FROM meta')
    return {
      /** All facts, read in one statement. */
      read: async (): Promise<Meta> =>
        Object.fromEntries((await all.all()).map(({ name, value }) => [name, value])),
    }
  },
  writes: (database) => ({
    /** Keeps an existing value: the first writer wins. */
    insert: async (name: MetaName, value: string) => {
      await database
        .prepare('INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING')
        .run(name, value)
    },
    /** Sets all or none; undefined deletes a fact. */
    set: (facts: { readonly [Name in MetaName]?: string | undefined }) =>
      database.transaction(async (tx) => {
        for (const [name, value] of Object.entries(facts)) {
          if (value === undefined) await tx.prepare(DELETE).run(name)
          else await tx.prepare(REPLACE).run(name, value)
        }
      }),
    /** Sets a number that only grows: to this one or, if it is not smaller already, to the next. Returns it. */
    raise: (name: MetaName, least: number) =>
      database.transaction(async (tx) => Number((await tx.prepare(RAISE).get(name, String(least)))?.value)),
  }),
})
export type MetaTable = TableOf<typeof metaTable>
