import type { LoggedRow } from '../store/audit-row.ts'
import type { AuditTable } from '../store/audit-table.ts'
import { type ReverseScanTable, type ScanPosition, scanBackwards } from './reverse-scan.ts'

/** All given conditions must hold. Times are ISO texts in UTC with milliseconds, like those of the rows. */
export type AuditFilter = Partial<
  Pick<LoggedRow, 'request_reference' | 'key_id' | 'outcome' | 'phase' | 'subject'>
> & {
  readonly from?: string
  readonly to?: string
}

export type AuditPage = {
  /** Newest first. */
  readonly rows: readonly LoggedRow[]
  /** Where the next page begins; undefined at the end. */
  readonly next: ScanPosition | undefined
  /** The search stopped early, at the limit of rows that one search reads. */
  readonly isCut: boolean
}

type SearchLimits = {
  /** Rows of a page. */
  readonly page: number
  /** Rows that one search reads. */
  readonly looks: number
  /** A subject with more rows than this is searched by a scan instead of the index. */
  readonly indexed: number
}

export const SEARCH_LIMITS: SearchLimits = { page: 50, looks: 20_000, indexed: 5000 }

type SearchTable = ReverseScanTable & Pick<AuditTable, 'byReference' | 'bySubject'>

export async function searchAudit(
  table: SearchTable,
  filter: AuditFilter,
  before?: ScanPosition | undefined,
  limits = SEARCH_LIMITS,
): Promise<AuditPage> {
  const few = await findIndexed(table, filter, limits)
  return few ? toPage(few, filter, before, limits) : searchAll(table, filter, before, limits)
}

/** All candidate rows, when an index finds them and they are few. */
async function findIndexed(
  table: SearchTable,
  { request_reference, subject }: AuditFilter,
  { indexed }: SearchLimits,
): Promise<LoggedRow[] | undefined> {
  if (request_reference) return table.byReference(request_reference)
  if (!subject) return undefined
  const rows = await table.bySubject(subject, indexed + 1)
  return rows.length > indexed ? undefined : rows
}

function toPage(
  few: readonly LoggedRow[],
  filter: AuditFilter,
  before: ScanPosition | undefined,
  { page }: SearchLimits,
): AuditPage {
  const fitting = few
    .filter((row) => fits(row, filter) && (!before || compareAge(before, row) < 0))
    .toSorted(compareAge)
  const rows = fitting.slice(0, page)
  const last = rows.at(-1)
  return { rows, next: fitting.length > page && last ? toPlace(last) : undefined, isCut: false }
}

async function searchAll(
  table: SearchTable,
  filter: AuditFilter,
  before: ScanPosition | undefined,
  { page, looks }: SearchLimits,
): Promise<AuditPage> {
  const rows: LoggedRow[] = []
  let looked = 0
  let last: ScanPosition | undefined
  for await (const { row, position } of scanBackwards(table, { ...filter, before })) {
    // Only now it is known that there are more rows.
    if (rows.length === page || looked === looks) return { rows, next: last, isCut: rows.length < page }
    if (fits(row, filter)) rows.push(row)
    looked += 1
    last = position
  }
  return { rows, next: undefined, isCut: false }
}

const SAME = ['request_reference', 'key_id', 'outcome', 'phase', 'subject'] as const

const fits = (row: LoggedRow, filter: AuditFilter) =>
  SAME.every((name) => filter[name] === undefined || filter[name] === row[name]) &&
  (filter.from === undefined || row.time >= filter.from) &&
  (filter.to === undefined || row.time <= filter.to)

/** Negative when the first is newer. */
function compareAge(one: ScanPosition, other: ScanPosition): number {
  if (one.time !== other.time) return one.time > other.time ? -1 : 1
  if (one.chain !== other.chain) return one.chain > other.chain ? -1 : 1
  return other.sequence - one.sequence
}

const toPlace = ({ time, chain, sequence }: LoggedRow): ScanPosition => ({ time, chain, sequence })
