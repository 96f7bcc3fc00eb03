import type { LoggedRow } from '../ledger/audit-row.ts'
import { type AuditFilter, compareAge, fitsRow } from './audit-filter.ts'
import type { AuditTable } from './audit-table.ts'
import { type ReverseScanTable, type ScanPosition, scanBackwards } from './reverse-scan.ts'

export type SearchTable = ReverseScanTable &
  Pick<AuditTable, 'byReference' | 'periodOf' | 'bySubject' | 'byConsent'>

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
  const range = await toScanRange(table, filter)
  for await (const { row, position } of scanBackwards(table, { ...range, before }))
    yield { found: fitsRow(row, filter) ? row : undefined, position }
}

/** The rows of one verification are all in its period. */
async function toScanRange(table: SearchTable, { request_reference: reference, from = '', to }: AuditFilter) {
  const period = reference === undefined || reference === null ? undefined : await table.periodOf(reference)
  if (!period) return { from: from || undefined, to }
  return {
    from: from > period.from ? from : period.from,
    to: to !== undefined && to < period.to ? to : period.to,
  }
}

/** All candidate rows, when an index finds them and they are few. */
export async function findIndexed(
  table: SearchTable,
  { request_reference, subject, consent_reference: consent }: AuditFilter,
  { indexed }: Pick<SearchLimits, 'indexed'>,
): Promise<LoggedRow[] | undefined> {
  const most = indexed + 1
  const find = () => {
    if (request_reference) return table.byReference(request_reference, most)
    return subject ? table.bySubject(subject, most) : table.byConsent(consent ?? '', most)
  }
  if (!request_reference && !subject && !consent) return undefined
  const rows = await find()
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
  /** A reference, a subject or a consent with more rows than this is searched by a scan instead of the index. */
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
