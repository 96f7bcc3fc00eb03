import type { AuditEntry } from '../audit/row.ts'
import { defineColumns, defineTable, list, type RowOf, type TableOf, text } from '../database/define-table.ts'
import { UserError } from '../errors.ts'

export type OrderKind = 'nin' | 'bvn'

/**
 * The configured sources in the order that was set while the servers run. Sources that were configured since then follow at the
 * end; sources that are no longer configured are passed over.
 */
export function toCallOrder<T>(
  configured: readonly T[],
  order: readonly string[] | undefined,
  nameOf: (source: T) => string,
): readonly T[] {
  if (!order) return configured
  const toPlace = (source: T) => {
    const place = order.indexOf(nameOf(source))
    return place < 0 ? order.length : place
  }
  return configured.toSorted((one, other) => toPlace(one) - toPlace(other))
}

type OrderDeps = {
  readonly table: SourceOrderTable
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

/** Changes the order on all nodes, within five seconds. Without names, the order of the settings counts again. */
export async function changeOrder(
  { table, audit }: OrderDeps,
  kind: OrderKind,
  configured: readonly string[],
  names?: readonly string[],
): Promise<void> {
  if (names && [...names].sort().join() !== [...configured].sort().join())
    throw new UserError(
      configured.length === 0
        ? `No source is configured for ${kind.toUpperCase()}. Set TABBAT_${kind.toUpperCase()}_SOURCES.`
        : `The order must name each configured source once: ${configured.join(', ')}.`,
    )
  const stored = (await table.list()).find((order) => order.kind === kind)?.names
  const before = toCallOrder(configured, stored, (name) => name)
  const detail = `${kind}: ${(names ?? configured).join(', ')}; before: ${before.join(', ')}${names ? '' : '; reset to the setting'}`
  await audit.record([{ phase: 'source_order_changed', detail }])
  if (names) await table.set({ kind, names }, Date.now())
  else await table.remove(kind)
}

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
