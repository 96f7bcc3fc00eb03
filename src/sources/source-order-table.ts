import type { Database } from '../database/database.ts'

/** `kind` is nin or bvn; the names are in call order. */
type SourceOrder = { readonly kind: string; readonly names: readonly string[] }

/** The orders that replace those of the settings, on all nodes. */
export type SourceOrderTable = {
  readonly list: () => Promise<SourceOrder[]>
  readonly set: (order: SourceOrder, at: number) => Promise<void>
  /** The order of the settings counts again. */
  readonly remove: (kind: string) => Promise<void>
}

export function createSourceOrderTable(database: Database): SourceOrderTable {
  const list = database.prepare('SELECT kind, names FROM source_orders ORDER BY kind')
  return {
    list: async () =>
      (await list.all()).map(({ kind, names }) => ({ kind: String(kind), names: String(names).split(',') })),
    set: async ({ kind, names }, at) => {
      await database
        .prepare(
          `INSERT INTO source_orders (kind, names, changed_at) VALUES ($1, $2, $3)
           ON CONFLICT (kind) DO UPDATE SET names = excluded.names, changed_at = excluded.changed_at`,
        )
        .run(kind, names.join(','), at)
    },
    remove: async (kind) => {
      await database.prepare('DELETE FROM source_orders WHERE kind = $1').run(kind)
    },
  }
}
