import type { AuditTable } from '../store/audit-table.ts'
import { toPolicyId } from './released-fields.ts'
import type { AuditEntry } from './row.ts'

/** Stores the names of released fields once, before the first row that refers to them. */
export type PolicyStore = {
  readonly store: (entries: readonly AuditEntry[]) => Promise<void>
  /** After a failure it is unknown what the database holds. */
  readonly forget: () => void
}

export function createPolicyStore(table: Pick<AuditTable, 'insertPolicies'>): PolicyStore {
  const stored = new Set<string>()
  return {
    store: async (entries) => {
      const fresh = new Set<string>()
      for (const { fields_released: fields } of entries) if (fields && !stored.has(fields)) fresh.add(fields)
      if (fresh.size === 0) return
      await table.insertPolicies([...fresh].map((fields) => ({ id: toPolicyId(fields), fields })))
      for (const fields of fresh) stored.add(fields)
    },
    forget: () => stored.clear(),
  }
}
