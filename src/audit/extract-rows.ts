import type { LoggedRow } from '../ledger/audit-row.ts'
import type { AuditFilter } from './audit-filter.ts'
import type { AuditTable } from './audit-table.ts'
import type { ExtractAbout } from './extract-record.ts'
import { findRows } from './search.ts'
import { findTimelines, type TimelineTable } from './search-timelines.ts'
import type { Timeline } from './timeline.ts'

type ExtractTable = TimelineTable & Pick<AuditTable, 'pageOfReference'>

const ROWS_AT_ONCE = 1000

/**
 * The rows of an extract: those that fit, newest first; or all rows of each verification that fits, one verification after the
 * other, the newest first and its rows oldest first.
 */
export async function* listExtractRows(
  table: ExtractTable,
  view: ExtractAbout['view'],
  filter: AuditFilter,
): AsyncIterable<LoggedRow> {
  if (view === 'rows') {
    for await (const { found } of findRows(table, filter)) if (found) yield found
    return
  }
  for await (const { found } of findTimelines(table, filter)) if (found) yield* listRows(table, found)
}

async function* listRows(table: ExtractTable, { reference, rows, isWhole }: Timeline) {
  if (isWhole) return yield* rows
  // A stored response that was returned very often: its rows are read in pages, in the order of their chains.
  let after = { chain: '', sequence: 0 }
  for (;;) {
    const page = await table.pageOfReference(reference, after, ROWS_AT_ONCE)
    yield* page
    const last = page.at(-1)
    if (!last) return
    after = last
  }
}
