import { readSourceAttempts } from '../audit/export.ts'
import { type ReverseScanTable, scanBackwards } from '../audit/reverse-scan.ts'
import { readPurpose } from '../contract/free-text.ts'
import type { PersonRequest } from '../contract/person-report.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'

/** The verifications of one consent reference, counted. */
type ConsentSummary = {
  readonly consent_reference: string
  readonly verifications: number
  readonly people: number
  readonly first_at: string
  readonly last_at: string
  readonly key_ids: readonly string[]
  readonly purposes: readonly string[]
}

export type ConsentFilter = {
  /** ISO times. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly purpose?: string | undefined
  readonly keyId?: string | undefined
}

type ConsentList = {
  /** Newest first. */
  readonly consents: readonly ConsentSummary[]
  /** The search stopped at this time, at the limit of rows that one search reads. */
  readonly searchedBackTo: string | undefined
}

/** Rows that one search reads. */
const MAX_ROWS = 500_000

type Collected = {
  readonly references: Set<string>
  readonly subjects: Set<string>
  readonly keys: Set<string>
  readonly purposes: Set<string>
  first: string
  readonly last: string
}

/** The consents that were used in a time, by reading the log backwards. */
export async function listConsents(
  table: ReverseScanTable,
  filter: ConsentFilter,
  maxRows = MAX_ROWS,
): Promise<ConsentList> {
  const found = new Map<string, Collected>()
  let rows = 0
  for await (const { row } of scanBackwards(table, { from: filter.from, to: filter.to })) {
    rows += 1
    if (rows > maxRows) return { consents: [...found].map(toSummary), searchedBackTo: row.time }
    if (row.consent_reference === null || !fits(row, filter)) continue
    const collected = found.get(row.consent_reference) ?? createCollected(row.time)
    found.set(row.consent_reference, collected)
    collect(collected, row)
  }
  return { consents: [...found].map(toSummary), searchedBackTo: undefined }
}

const fits = (row: LoggedRow, { from, to, purpose, keyId }: ConsentFilter) =>
  (keyId === undefined || row.key_id === keyId) &&
  (from === undefined || row.time >= from) &&
  (to === undefined || row.time <= to) &&
  (purpose === undefined || readPurpose(row.detail) === purpose)

function collect(collected: Collected, row: LoggedRow): void {
  const purpose = readPurpose(row.detail)
  collected.first = row.time
  if (row.request_reference !== null) collected.references.add(row.request_reference)
  if (row.subject !== null) collected.subjects.add(row.subject)
  if (row.key_id !== null) collected.keys.add(row.key_id)
  if (purpose !== undefined) collected.purposes.add(purpose)
}

const createCollected = (time: string): Collected => ({
  references: new Set(),
  subjects: new Set(),
  keys: new Set(),
  purposes: new Set(),
  first: time,
  last: time,
})

const toSummary = ([consent_reference, collected]: readonly [string, Collected]): ConsentSummary => ({
  consent_reference,
  verifications: collected.references.size,
  people: collected.subjects.size,
  first_at: collected.first,
  last_at: collected.last,
  key_ids: [...collected.keys],
  purposes: [...collected.purposes],
})

/** The rows of a verification. */
const PHASES: readonly string[] = ['queued', 'intent', 'attempt', 'outcome', 'replay']

export const isOfVerification = ({ phase, request_reference }: LoggedRow) =>
  request_reference !== null && PHASES.includes(phase)

type NameKey = (keyId: string | null) => string | null

/** One entry for each verification, in the order of their first rows. Other rows are left out. */
export function foldRequests(rows: readonly LoggedRow[], nameKey: NameKey): PersonRequest[] {
  const groups = Map.groupBy(rows.filter(isOfVerification), (row) => row.request_reference)
  return [...groups.values()].flatMap((group) => toRequest(group, nameKey) ?? [])
}

function toRequest(group: readonly LoggedRow[], nameKey: NameKey): PersonRequest | undefined {
  const first = group[0]
  if (!first) return undefined
  const outcome = group.findLast(({ phase }) => phase === 'outcome')
  const last = group.at(-1) ?? first
  const released = group.flatMap((row) => (row.released ? row.released.split(',') : []))
  return {
    request_reference: String(first.request_reference),
    key_id: first.key_id,
    key_name: nameKey(first.key_id),
    mode: first.mode,
    operation: first.operation,
    started_at: outcome?.started_at ?? first.time,
    ended_at: outcome?.time ?? null,
    // A replay whose outcome is in an archive tells it as well.
    outcome: outcome?.outcome ?? (last.phase === 'replay' ? last.outcome : null),
    fields_released: [...new Set(released)],
    consent_reference: find(group, ({ consent_reference }) => consent_reference),
    purpose: find(group, ({ detail }) => readPurpose(detail) ?? null),
    amount: find(group, ({ amount }) => amount),
    sources: group
      .flatMap((row) => readSourceAttempts(row))
      .map(({ name, result, ms }) => ({ name, result, ms })),
    replayed_at: group.flatMap(({ phase, time }) => (phase === 'replay' ? [time] : [])),
  }
}

function find(group: readonly LoggedRow[], read: (row: LoggedRow) => string | null): string | null {
  for (const row of group) {
    const value = read(row)
    if (value !== null) return value
  }
  return null
}
