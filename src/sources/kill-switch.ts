import type { AuditEntry } from '../audit/row.ts'
import type { SourceTable } from './source-table.ts'

type SwitchDeps = {
  readonly table: Pick<SourceTable, 'disable' | 'enable'>
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

/** Stops all calls to a source, on other nodes within five seconds. False when it was disabled already. */
export async function disableSource({ table, audit }: SwitchDeps, name: string): Promise<boolean> {
  await audit.record([{ phase: 'source_disabled', detail: name }])
  return table.disable(name, Date.now())
}

export async function enableSource({ table, audit }: SwitchDeps, name: string): Promise<boolean> {
  await audit.record([{ phase: 'source_enabled', detail: name }])
  return table.enable(name)
}
