import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditRow, LoggedRow } from '../ledger/audit-row.ts'
import type { AuditTable } from './audit-table.ts'

/** Few enough not to delay requests. */
const ROWS_AT_ONCE = 100

/** Every row as a line of NDJSON, chain by chain. Read in pages without a transaction: rows never change. */
export async function* exportRows(table: Pick<AuditTable, 'chains' | 'page'>): AsyncIterable<string> {
  for (const { chain } of await table.chains()) {
    let after = 0
    for (;;) {
      // SQLite answers synchronously: let other work run between two pages.
      await nextTurn()
      const rows = await table.page(chain, after, ROWS_AT_ONCE)
      if (rows.length === 0) break
      after = rows.at(-1)?.sequence ?? after
      yield rows.map((row) => `${JSON.stringify(toPlainRow(row))}\n`).join('')
    }
  }
}

/** A row as a JSON object with the names of the columns, and the names of the released fields; hashes are hex. */
export const toPlainRow = ({ previous_hash, hash, released, ...fields }: LoggedRow) => ({
  ...fields,
  previous_hash: Buffer.from(previous_hash).toString('hex'),
  hash: Buffer.from(hash).toString('hex'),
  released,
})

export type SourceAttempt = {
  readonly name: string
  readonly result: string
  readonly ms: number
  /** The vendor's reference of its answer, for support requests. */
  readonly reference?: string
}

/** The sources that were asked, in order; empty when the column is null or not valid JSON. */
export function readSourceAttempts({ sources }: Pick<AuditRow, 'sources'>): SourceAttempt[] {
  if (sources === null) return []
  try {
    return JSON.parse(sources) as SourceAttempt[]
  } catch {
    return []
  }
}
