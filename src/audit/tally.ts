import type { AuditRow } from '../ledger/audit-row.ts'
import { SPANS, toSpanName } from '../ledger/span.ts'
import type { Tally } from '../ledger/tally-rows.ts'

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
