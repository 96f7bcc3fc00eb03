import type { LoggedRow } from '../ledger/audit-row.ts'
import { readSourceAttempts } from './export.ts'
import type { ScanPosition } from './reverse-scan.ts'

/** All given conditions must hold. Times are ISO texts in UTC with milliseconds, like those of the rows. */
export type AuditFilter = Partial<
  Pick<LoggedRow, 'request_reference' | 'outcome' | 'phase' | 'operation' | 'subject' | 'consent_reference'>
> & {
  readonly key_ids?: readonly string[]
  /** The name of a source that was called or skipped. */
  readonly source?: string
  readonly from?: string
  readonly to?: string
}

/** The value of `outcome` that finds verifications without one. */
export const NO_OUTCOME = 'none'

const SAME = ['request_reference', 'phase', 'operation', 'subject', 'consent_reference'] as const

export const fitsRow = (row: LoggedRow, filter: AuditFilter): boolean =>
  SAME.every((name) => filter[name] === undefined || filter[name] === row[name]) &&
  fitsOutcome(row.outcome, filter) &&
  fitsKey(row, filter) &&
  fitsTime(row, filter) &&
  (filter.source === undefined || readSourceAttempts(row).some(({ name }) => name === filter.source))

export const fitsOutcome = (outcome: string | null, filter: AuditFilter): boolean =>
  filter.outcome === undefined || filter.outcome === (outcome ?? NO_OUTCOME)

export const fitsKey = ({ key_id }: LoggedRow, { key_ids }: AuditFilter): boolean =>
  key_ids === undefined || (key_id !== null && key_ids.includes(key_id))

export const fitsTime = ({ time }: LoggedRow, { from, to }: AuditFilter): boolean =>
  (from === undefined || time >= from) && (to === undefined || time <= to)

/** Negative when the first is newer. */
export function compareAge(one: ScanPosition, other: ScanPosition): number {
  if (one.time !== other.time) return one.time > other.time ? -1 : 1
  if (one.chain !== other.chain) return one.chain > other.chain ? -1 : 1
  return other.sequence - one.sequence
}
