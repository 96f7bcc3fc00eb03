import type { LoggedRow } from '../ledger/audit-row.ts'
import { type AuditFilter, compareAge, fitsKey, fitsOutcome, fitsTime } from './audit-filter.ts'
import { readSourceAttempts, type SourceAttempt } from './export.ts'

/** The audit rows of one verification. */
export type Timeline = {
  readonly reference: string
  /** Oldest first. */
  readonly rows: readonly LoggedRow[]
  /** False when rows of the phase `replay` are missing here: there are too many of them. */
  readonly isWhole: boolean
  /** The row of its outcome; without one, its latest row. A search finds the verification at this row. */
  readonly main: LoggedRow
  readonly startedAt: string
  readonly outcome: string | null
  /** Of all rows, in order. */
  readonly sourceAttempts: readonly SourceAttempt[]
}

/** The phases of a verification, without what is done with its answer later. */
const STEPS: readonly string[] = ['queued', 'intent', 'attempt', 'outcome']

const isStep = ({ phase, request_reference }: LoggedRow) =>
  request_reference !== null && STEPS.includes(phase)

/** Undefined for rows that are not of a verification. */
export function toTimeline(
  reference: string,
  unsorted: readonly LoggedRow[],
  isWhole = true,
): Timeline | undefined {
  const rows = unsorted.toSorted((one, other) => compareAge(other, one))
  const steps = rows.filter(isStep)
  const [first] = steps
  const outcome = steps.findLast(({ phase }) => phase === 'outcome')
  const main = outcome ?? steps.at(-1)
  if (!first || !main) return undefined
  return {
    reference,
    rows,
    isWhole,
    main,
    startedAt: first.started_at ?? first.time,
    outcome: outcome?.outcome ?? null,
    sourceAttempts: steps.flatMap(readSourceAttempts),
  }
}

/** A value that all rows have in common. A row that ends a queued verification lacks some of them. */
export const findShared = ({ rows }: Timeline, name: 'amount' | 'consent_reference'): string | null =>
  rows.find((row) => row[name] !== null)?.[name] ?? null

export function fitsTimeline(timeline: Timeline, filter: AuditFilter): boolean {
  const { main, rows, outcome, reference, sourceAttempts } = timeline
  const { request_reference, operation, subject, consent_reference, source } = filter
  return (
    fitsKey(main, filter) &&
    fitsTime(main, filter) &&
    fitsOutcome(outcome, filter) &&
    (request_reference === undefined || request_reference === reference) &&
    (operation === undefined || operation === main.operation) &&
    (subject === undefined || rows.some((row) => row.subject === subject)) &&
    (consent_reference === undefined || consent_reference === findShared(timeline, 'consent_reference')) &&
    (source === undefined || sourceAttempts.some(({ name }) => name === source))
  )
}

/** False when this row alone shows that it is not the main row of a verification that fits. */
export function mayBeMain(row: LoggedRow, filter: AuditFilter): boolean {
  const { operation, subject, consent_reference, source } = filter
  const { consent_reference: given, started_at } = row
  return (
    isStep(row) &&
    fitsKey(row, filter) &&
    fitsTime(row, filter) &&
    fitsOutcome(row.phase === 'outcome' ? row.outcome : null, filter) &&
    (operation === undefined || operation === row.operation) &&
    (subject === undefined || subject === row.subject) &&
    (consent_reference === undefined || consent_reference === (given ?? consent_reference)) &&
    // A row with the time of the start is a whole verification.
    (source === undefined ||
      started_at === null ||
      readSourceAttempts(row).some(({ name }) => name === source))
  )
}
