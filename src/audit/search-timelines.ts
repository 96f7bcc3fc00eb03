import { readPurpose } from '../contract/free-text.ts'
import { DAY_MS } from '../contract/time.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import { type AuditFilter, compareAge, fitsKey, fitsOutcome, fitsTime } from './audit-filter.ts'
import { MAX_REFERENCE_ROWS, type Period } from './audit-queries.ts'
import type { AuditTable } from './audit-table.ts'
import { readSourceAttempts, type SourceAttempt } from './export.ts'
import { type ScanPosition, type Step, scanBackwards, toComparable } from './reverse-scan.ts'
import {
  collectPage,
  findIndexed,
  isAfter,
  SEARCH_LIMITS,
  type SearchPage,
  type SearchStep,
  type SearchTable,
  toPosition,
} from './search.ts'

export type TimelineTable = SearchTable & Pick<AuditTable, 'byReferences'>

/** Verifications whose other rows are read at once. */
const READ_AT_ONCE = 64
/** Rows that are held back until their verifications are read. */
const HELD = 512
/** Rows of all these verifications. If there are more, stored responses were returned very often. */
const MAX_ROWS = 20_000
const MAX_ENDED = 50_000

/** One page of the verifications that fit, each once. */
export const searchTimelines = (
  table: TimelineTable,
  filter: AuditFilter,
  before?: ScanPosition | undefined,
  limits = SEARCH_LIMITS,
): Promise<SearchPage<Timeline>> => collectPage(findTimelines(table, filter, before, limits), limits)

/**
 * The verifications that fit, by the time of their outcome, newest first. The rows are scanned backwards, and a verification is
 * found at its main row: so a position in the scan is enough to continue, and none is found twice.
 */
export async function* findTimelines(
  table: TimelineTable,
  filter: AuditFilter,
  before?: ScanPosition | undefined,
  limits = SEARCH_LIMITS,
): AsyncIterable<SearchStep<Timeline>> {
  const { request_reference: reference } = filter
  const few = reference ? await table.byReference(reference, 1) : await findIndexed(table, filter, limits)
  if (few) {
    for (const found of await readFew(table, few, filter))
      if (isAfter(found.main, before)) yield { found, position: toPosition(found.main) }
    return
  }
  const isCandidate = createCandidateCheck(filter)
  let held: Step[] = []
  let candidates = new Set<LoggedRow>()
  for await (const step of scanBackwards(table, { ...filter, before })) {
    held.push(step)
    if (isCandidate(step.row)) candidates.add(step.row)
    if (candidates.size < READ_AT_ONCE && held.length < HELD) continue
    yield* resolve(table, held, candidates, filter)
    held = []
    candidates = new Set()
  }
  yield* resolve(table, held, candidates, filter)
}

/** Whether the other rows of the verification must be read, to decide. For the rows of one scan, in order. */
function createCandidateCheck(filter: AuditFilter): (row: LoggedRow) => boolean {
  /** Verifications whose outcome was met: their earlier rows need not be looked at. */
  const ended = new Set<string | null>()
  return (row) => {
    const { request_reference: reference, phase } = row
    const isOpen = !ended.has(reference)
    if (ended.size > MAX_ENDED) ended.clear()
    if (phase === 'outcome') ended.add(reference)
    return isOpen && mayBeMain(row, filter)
  }
}

async function* resolve(
  table: TimelineTable,
  held: readonly Step[],
  candidates: ReadonlySet<LoggedRow>,
  filter: AuditFilter,
): AsyncIterable<SearchStep<Timeline>> {
  const timelines = await readTimelines(table, [...candidates])
  for (const { row, position } of held) {
    const timeline = candidates.has(row) ? timelines.get(row.request_reference) : undefined
    const isFound = timeline && isSameRow(timeline.main, row) && fitsTimeline(timeline, filter)
    yield { found: isFound ? timeline : undefined, position }
  }
}

async function readFew(
  table: TimelineTable,
  few: readonly LoggedRow[],
  filter: AuditFilter,
): Promise<Timeline[]> {
  const found: Timeline[] = []
  const once = [...new Map(few.map((row) => [row.request_reference, row])).values()]
  for (let start = 0; start < once.length; start += READ_AT_ONCE)
    found.push(...(await readTimelines(table, once.slice(start, start + READ_AT_ONCE))).values())
  return found
    .filter((timeline) => fitsTimeline(timeline, filter))
    .sort((one, other) => compareAge(one.main, other.main))
}

async function readTimelines(
  table: TimelineTable,
  rows: readonly LoggedRow[],
): Promise<Map<string | null, Timeline>> {
  if (rows.length === 0) return new Map()
  const references = new Set(rows.flatMap((row) => row.request_reference ?? []))
  const all = await table.byReferences([...references], MAX_ROWS, toNear(rows))
  const timelines = new Map<string | null, Timeline>()
  for (const [reference, some] of Map.groupBy(all, (row) => row.request_reference ?? '')) {
    const timeline = toTimeline(reference, some, all.length < MAX_ROWS)
    if (timeline) timelines.set(reference, timeline)
  }
  return timelines
}

/** No row of a verification is further from the others: stored responses are kept for a day, queued verifications for days. */
const NEAR_MS = 31 * DAY_MS

function toNear(rows: readonly LoggedRow[]): Period {
  const times = rows.map(({ time }) => time).sort()
  const [first, last] = [Date.parse(times[0] ?? ''), Date.parse(times.at(-1) ?? '')]
  return { from: toComparable(first - NEAR_MS), to: toComparable(last + NEAR_MS) }
}

/** The rows of one verification that a page can show, oldest first. */
export async function readRowsToShow(
  table: Pick<AuditTable, 'byReference'>,
  reference: string,
): Promise<{ readonly rows: LoggedRow[]; readonly isWhole: boolean }> {
  const rows = await table.byReference(reference, MAX_REFERENCE_ROWS + 1)
  if (rows.length <= MAX_REFERENCE_ROWS) return { rows, isWhole: true }
  return { rows: rows.toSpliced(rows.findLastIndex(isReplay), 1), isWhole: false }
}

const isReplay = ({ phase }: LoggedRow) => phase === 'replay'

const isSameRow = (one: LoggedRow, other: LoggedRow) =>
  one.chain === other.chain && one.sequence === other.sequence

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

/** What the caller said the verification is for. */
export const findPurpose = ({ rows }: Timeline): string | null =>
  rows.map((row) => readPurpose(row.detail)).find((purpose) => purpose !== undefined) ?? null

function fitsTimeline(timeline: Timeline, filter: AuditFilter): boolean {
  const { main, rows, outcome, reference, sourceAttempts } = timeline
  const { request_reference, operation, subject, consent_reference, purpose, source } = filter
  return (
    fitsKey(main, filter) &&
    fitsTime(main, filter) &&
    fitsOutcome(outcome, filter) &&
    (request_reference === undefined || request_reference === reference) &&
    (operation === undefined || operation === main.operation) &&
    (subject === undefined || rows.some((row) => row.subject === subject)) &&
    (consent_reference === undefined || consent_reference === findShared(timeline, 'consent_reference')) &&
    (purpose === undefined || purpose === findPurpose(timeline)) &&
    (source === undefined || sourceAttempts.some(({ name }) => name === source))
  )
}

/** False when this row alone shows that it is not the main row of a verification that fits. */
function mayBeMain(row: LoggedRow, filter: AuditFilter): boolean {
  const { operation, subject, consent_reference, purpose, source } = filter
  const { consent_reference: given, started_at } = row
  return (
    isStep(row) &&
    fitsKey(row, filter) &&
    fitsTime(row, filter) &&
    fitsOutcome(row.phase === 'outcome' ? row.outcome : null, filter) &&
    (operation === undefined || operation === row.operation) &&
    (subject === undefined || subject === row.subject) &&
    (consent_reference === undefined || consent_reference === (given ?? consent_reference)) &&
    (purpose === undefined || purpose === (readPurpose(row.detail) ?? purpose)) &&
    // A row with the time of the start is a whole verification.
    (source === undefined ||
      started_at === null ||
      readSourceAttempts(row).some(({ name }) => name === source))
  )
}
