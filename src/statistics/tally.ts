import type { AuditRow } from '../store/audit-row.ts'
import { SPANS, type Tally, toSpanName } from '../store/statistics-table.ts'

/** What these rows add to the statistics: one verification for each outcome. A replay was counted before. */
export function tallyRows(rows: readonly AuditRow[]): Tally[] {
  const tallies = new Map<string, Tally>()
  for (const row of rows)
    if (row.phase === 'outcome') for (const span of SPANS) addTo(tallies, toTally(span, row))
  return [...tallies.values()]
}

function toTally(span: Tally['span'], row: AuditRow): Tally {
  return {
    span,
    at: toSpanName(span, row.time),
    chain: row.chain,
    operation: row.operation ?? '',
    mode: row.mode ?? '',
    outcome: row.outcome ?? '',
    key_id: row.key_id ?? '',
    source: findAnswering(row.sources),
    count: 1,
    last_at: row.time,
    last_reference: row.request_reference ?? '',
  }
}

function addTo(tallies: Map<string, Tally>, tally: Tally): void {
  const { at, operation, mode, outcome, key_id, source } = tally
  const name = `${at}|${operation}|${mode}|${outcome}|${key_id}|${source}`
  const known = tallies.get(name)
  if (!known) {
    tallies.set(name, tally)
    return
  }
  known.count += 1
  known.last_at = tally.last_at
  known.last_reference = tally.last_reference
}

const ANSWERS = ['found', 'not_found', 'watchlisted', 'reused']

/** The source that answered; "none" when none did. */
function findAnswering(sources: string | null): string {
  if (sources === null) return 'none'
  const tried = JSON.parse(sources) as { readonly name: string; readonly result: string }[]
  return tried.findLast(({ result }) => ANSWERS.includes(result))?.name ?? 'none'
}
