import type { AuditTable } from './audit-table.ts'
import { toPolicyId } from './released-fields.ts'
import type { AuditEntry } from './row.ts'

/** Stores the names of released fields once, before the first row that refers to them. */
export type PolicyStore = {
  /** Undefined when all are stored, as with most batches. */
  readonly store: (entries: readonly AuditEntry[]) => undefined | Promise<void>
  /** After a failure it is unknown what the database holds. */
  readonly forget: () => void
}

export function createPolicyStore(table: Pick<AuditTable, 'insertPolicies'>): PolicyStore {
  const stored = new Set<string>()
  const insert = async (fresh: ReadonlySet<string>) => {
    await table.insertPolicies([...fresh].map((fields) => ({ id: toPolicyId(fields), fields })))
    for (const fields of fresh) stored.add(fields)
  }
  return {
    store: (entries) => {
      const fresh = new Set<string>()
      for (const { fields_released: fields } of entries) if (fields && !stored.has(fields)) fresh.add(fields)
      return fresh.size === 0 ? undefined : insert(fresh)
    },
    forget: () => stored.clear(),
  }
}
