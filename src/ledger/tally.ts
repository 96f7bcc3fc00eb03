import { toLagosDate } from '../contract/time.ts'
import type { Value } from '../database/database.ts'
import type { AuditRow } from './audit-row.ts'

/** Minutes are kept for hours, hours for two months, days as long as TABBAT_STATISTICS_KEEP says: every query reads few rows. */
export type Span = 'minute' | 'hour' | 'day'

/** Length of the name of a span, a prefix of an ISO time: 2026-11-15T08:42, 2026-11-15T08, 2026-11-15. Days are in Lagos time. */
const NAME_LENGTH: Readonly<Record<Span, number>> = { minute: 16, hour: 13, day: 10 }
export const SPANS = Object.keys(NAME_LENGTH) as readonly Span[]
export const toSpanName = (span: Span, time: string) =>
  span === 'day' ? toDayOfHour(time.slice(0, NAME_LENGTH.hour)) : time.slice(0, NAME_LENGTH[span])

let lastHour = ''
let lastDay = ''

/** Every hour lies in one Lagos day. The last answer is kept, because most rows fall in the same hour as the row before. */
function toDayOfHour(hour: string): string {
  if (hour !== lastHour) {
    lastDay = toLagosDate(Date.parse(`${hour}:00Z`))
    lastHour = hour
  }
  return lastDay
}

/** How many verifications of one span had the same operation, mode, outcome, key and source. */
export type Tally = {
  readonly span: Span
  readonly at: string
  readonly chain: string
  readonly operation: string
  readonly mode: string
  readonly outcome: string
  readonly key_id: string
  readonly source: string
  count: number
  last_at: string
  last_reference: string
}

const TALLY_COLUMNS = [
  'span',
  'at',
  'chain',
  'operation',
  'mode',
  'outcome',
  'key_id',
  'source',
  'count',
  'last_at',
  'last_reference',
] as const satisfies readonly (keyof Tally)[]

export const toTallyValues = (tally: Tally): Value[] => TALLY_COLUMNS.map((column) => tally[column])

/** As one JSON text, which PostgreSQL unpacks itself. */
export const packTallies = (tallies: readonly Tally[]): string => JSON.stringify(tallies.map(toTallyValues))

const INTO = `INSERT INTO statistics (${TALLY_COLUMNS.join(', ')})`
const ADD = `ON CONFLICT (span, at, chain, operation, mode, outcome, key_id, source) DO UPDATE SET
  count = statistics.count + excluded.count, last_at = excluded.last_at, last_reference = excluded.last_reference`

export const ADD_TALLY = `${INTO} VALUES (${TALLY_COLUMNS.map((_column, index) => `$${index + 1}`).join(', ')}) ${ADD}`

/** The same for a whole batch, which PostgreSQL unpacks itself. */
export const toAddPackedTallies = (parameter: string) =>
  `${INTO} SELECT ${TALLY_COLUMNS.map((column, index) => (column === 'count' ? `(tally->>${index})::bigint` : `tally->>${index}`)).join(', ')}
   FROM jsonb_array_elements(${parameter}::jsonb) AS tallies(tally) ${ADD}`

/** What these rows add to the statistics: one verification for each outcome. A replay was counted before. */
export function tallyRows(rows: readonly AuditRow[]): Tally[] {
  const tallies = new Map<string, Tally>()
  for (const minute of countMinutes(rows)) for (const span of SPANS) addTo(tallies, toSpan(minute, span))
  return [...tallies.values()]
}

/** Rows of one batch differ in little: they are counted by minute first, and then added to the longer spans. */
function countMinutes(rows: readonly AuditRow[]): Iterable<Tally> {
  const tallies = new Map<string, Tally>()
  for (const row of rows) {
    if (row.phase !== 'outcome') continue
    const source = findAnswering(row.sources)
    const at = toSpanName('minute', row.time)
    const name = `${at}|${row.operation}|${row.mode}|${row.outcome}|${row.key_id}|${source}`
    const known = tallies.get(name)
    if (!known) {
      tallies.set(name, toTally(row, at, source))
      continue
    }
    known.count += 1
    known.last_at = row.time
    known.last_reference = row.request_reference ?? ''
  }
  return tallies.values()
}

const toTally = (row: AuditRow, at: string, source: string): Tally => ({
  span: 'minute',
  at,
  chain: row.chain,
  operation: row.operation ?? '',
  mode: row.mode ?? '',
  outcome: row.outcome ?? '',
  key_id: row.key_id ?? '',
  source,
  count: 1,
  last_at: row.time,
  last_reference: row.request_reference ?? '',
})

const toSpan = (minute: Tally, span: Tally['span']): Tally => ({
  ...minute,
  span,
  at: toSpanName(span, minute.last_at),
})

function addTo(tallies: Map<string, Tally>, tally: Tally): void {
  const { at, operation, mode, outcome, key_id, source, count } = tally
  const name = `${at}|${operation}|${mode}|${outcome}|${key_id}|${source}`
  const known = tallies.get(name)
  if (!known) {
    tallies.set(name, tally)
    return
  }
  known.count += count
  known.last_at = tally.last_at
  known.last_reference = tally.last_reference
}

const ANSWERS = ['found', 'not_found', 'watchlisted', 'reused']

/** By the text of the attempts, most of which are alike. */
const answering = new Map<string, string>()
const MAX_ANSWERING = 1000

/** The source that answered; "none" when none did. */
function findAnswering(sources: string | null): string {
  if (sources === null) return 'none'
  const known = answering.get(sources)
  if (known !== undefined) return known
  const tried = JSON.parse(sources) as { readonly name: string; readonly result: string }[]
  const source = tried.findLast(({ result }) => ANSWERS.includes(result))?.name ?? 'none'
  if (answering.size >= MAX_ANSWERING) answering.clear()
  answering.set(sources, source)
  return source
}
