import type { AuditLog } from './audit-log.ts'
import type { AuditEntry } from './row.ts'

/** Adds the account that makes a change to the detail of every row. */
export const auditBy = (
  { context }: { readonly context: { readonly audit: Pick<AuditLog, 'record'> } },
  { name }: { readonly name: string },
) => ({
  record: (entries: readonly AuditEntry[]): Promise<void> =>
    context.audit.record(
      entries.map((entry) => ({ ...entry, detail: [entry.detail, `by ${name}`].filter(Boolean).join('; ') })),
    ),
})
