import type { Head } from '../../src/audit/audit-chains.ts'
import { type AuditEntry, linkEntries } from '../../src/audit/row.ts'
import type { AuditRow } from '../../src/ledger/audit-row.ts'
import { hashOf } from '../battery/chain-check.ts'

/** Rows as version 0.1 wrote them. */
export function linkFormat1(chain: string, head: Head, entries: readonly AuditEntry[]): AuditRow[] {
  let previous_hash = head.hash
  return linkEntries(chain, head, entries).map((row, index) => {
    const fields_released = entries[index]?.fields_released ?? null
    const old = { ...row, fields_released, started_at: null, format: 1, previous_hash }
    previous_hash = Buffer.from(hashOf(old), 'hex')
    return { ...old, hash: previous_hash }
  })
}
