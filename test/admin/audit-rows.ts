import type { AuditRow } from '../../src/ledger/audit-row.ts'
import type { TestApp } from '../app.ts'

/** The audit rows of these phases, oldest first per chain. */
export async function readRows({ context }: TestApp, ...phases: string[]): Promise<AuditRow[]> {
  const { audit } = context.store
  const pages = await Promise.all((await audit.chains()).map(({ chain }) => audit.page(chain, 0, 10_000)))
  return pages.flat().filter(({ phase }) => phases.includes(phase))
}
