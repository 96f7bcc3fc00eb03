import type { AuditEntry } from '../audit/row.ts'
import type { SourceTable } from '../store/source-table.ts'

type SwitchDeps = {
  readonly table: Pick<SourceTable, 'disable' | 'enable'>
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

/** The kill switch: from now on (at other nodes, within five seconds) nobody asks this source. False when it was off already. */
export async function disableSource({ table, audit }: SwitchDeps, name: string): Promise<boolean> {
  await audit.record([{ phase: 'source_disabled', detail: name }])
  return table.disable(name, Date.now())
}

export async function enableSource({ table, audit }: SwitchDeps, name: string): Promise<boolean> {
  await audit.record([{ phase: 'source_enabled', detail: name }])
  return table.enable(name)
}
