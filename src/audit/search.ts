import type { LoggedRow } from '../ledger/audit-row.ts'
import { type AuditFilter, compareAge, fitsRow } from './audit-filter.ts'
import type { AuditTable } from './audit-table.ts'
import { type ReverseScanTable, type ScanPosition, scanBackwards } from './reverse-scan.ts'
import {
  collectPage,
  SEARCH_LIMITS,
  type SearchLimits,
  type SearchPage,
  type SearchStep,
} from './search-page.ts'

export type SearchTable = ReverseScanTable & Pick<AuditTable, 'byReference' | 'bySubject' | 'byConsent'>

/** One page of the rows that fit. */
export const searchAudit = (
  table: SearchTable,
  filter: AuditFilter,
  before?: ScanPosition | undefined,
  limits = SEARCH_LIMITS,
): Promise<SearchPage<LoggedRow>> => collectPage(findRows(table, filter, before, limits), limits)

/** The rows that fit, newest first, and the positions of those that do not. */
export async function* findRows(
  table: SearchTable,
  filter: AuditFilter,
  before?: ScanPosition | undefined,
  limits = SEARCH_LIMITS,
): AsyncIterable<SearchStep<LoggedRow>> {
  const few = await findIndexed(table, filter, limits)
  if (few) {
    const fitting = few.filter((row) => fitsRow(row, filter) && isAfter(row, before))
    for (const row of fitting.toSorted(compareAge)) yield { found: row, position: toPosition(row) }
    return
  }
  for await (const { row, position } of scanBackwards(table, { ...filter, before }))
    yield { found: fitsRow(row, filter) ? row : undefined, position }
}

/** All candidate rows, when an index finds them and they are few. */
export async function findIndexed(
  table: SearchTable,
  { request_reference, subject, consent_reference: consent }: AuditFilter,
  { indexed }: Pick<SearchLimits, 'indexed'>,
): Promise<LoggedRow[] | undefined> {
  if (request_reference) return table.byReference(request_reference)
  if (!subject && !consent) return undefined
  const rows = await (subject
    ? table.bySubject(subject, indexed + 1)
    : table.byConsent(consent ?? '', indexed + 1))
  return rows.length > indexed ? undefined : rows
}

/** Whether a search that continues after a position comes to this row. */
export const isAfter = (row: LoggedRow, before: ScanPosition | undefined): boolean =>
  before === undefined || compareAge(before, row) < 0

export const toPosition = ({ time, chain, sequence }: LoggedRow): ScanPosition => ({ time, chain, sequence })
