import type { LoggedRow } from '../ledger/audit-row.ts'
import { type AuditFilter, compareAge, fitsRow } from './audit-filter.ts'
import type { AuditTable } from './audit-table.ts'
import { type ReverseScanTable, type ScanPosition, scanBackwards } from './reverse-scan.ts'

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

/** One step of a search: the position that was reached, and what was found there. */
export type SearchStep<T> = { readonly found: T | undefined; readonly position: ScanPosition }

export type SearchPage<T> = {
  /** Newest first. */
  readonly found: readonly T[]
  /** Where the next page begins; undefined at the end. */
  readonly next: ScanPosition | undefined
  /** The search stopped early, at the limit of rows or of time. */
  readonly isCut: boolean
  /** Rows that were read. */
  readonly looked: number
}

type SearchLimits = {
  /** Results of a page. */
  readonly page: number
  /** Rows that one search reads. */
  readonly looks: number
  /** A subject or a consent with more rows than this is searched by a scan instead of the index. */
  readonly indexed: number
  /** The time of the request is over. */
  readonly isOver?: () => boolean
}

export const SEARCH_LIMITS: SearchLimits = { page: 50, looks: 20_000, indexed: 5000 }

/** The first results of a search, within its limits. */
export async function collectPage<T>(
  steps: AsyncIterable<SearchStep<T>>,
  { page, looks, isOver = () => false }: SearchLimits,
): Promise<SearchPage<T>> {
  const found: T[] = []
  let looked = 0
  let last: ScanPosition | undefined
  for await (const step of steps) {
    // Only now it is known that there are more rows.
    if (found.length === page || looked === looks || (last && isOver()))
      return { found, next: last, isCut: found.length < page, looked }
    if (step.found !== undefined) found.push(step.found)
    looked += 1
    last = step.position
  }
  return { found, next: undefined, isCut: false, looked }
}
