import { defineColumns, defineTable, list, type RowOf, type TableOf, text } from '../database/define-table.ts'

/** `kind` is nin or bvn; the names are in call order. */
const ORDER = defineColumns({ kind: text(), names: list() })

/** The orders that replace those of the settings, on all nodes. */
export const sourceOrderTable = defineTable({
  reads: (database) => {
    const all = database.prepare(`SELECT ${ORDER.names} FROM source_orders ORDER BY kind`)
    return { list: async () => (await all.all()).map(ORDER.decode) }
  },
  writes: (database) => ({
    set: async (order: RowOf<typeof ORDER>, at: number) => {
      await database
        .prepare(
          `INSERT INTO source_orders (kind, names, changed_at) VALUES ($1, $2, $3)
           ON CONFLICT (kind) DO UPDATE SET names = excluded.names, changed_at = excluded.changed_at`,
        )
        .run(...ORDER.encode(order), at)
    },
    /** The order of the settings counts again. */
    remove: async (kind: string) =>
      void (await database.prepare('DELETE FROM source_orders WHERE kind = $1').run(kind)),
  }),
})
export type SourceOrderTable = TableOf<typeof sourceOrderTable>
