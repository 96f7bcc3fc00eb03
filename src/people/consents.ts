import { type ReverseScanTable, scanBackwards } from '../audit/reverse-scan.ts'
import { readPurpose } from '../contract/free-text.ts'
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
const MOST_ROWS = 500_000

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
  mostRows = MOST_ROWS,
): Promise<ConsentList> {
  const found = new Map<string, Collected>()
  let rows = 0
  for await (const { row } of scanBackwards(table, { from: filter.from, to: filter.to })) {
    rows += 1
    if (rows > mostRows) return { consents: [...found].map(toSummary), searchedBackTo: row.time }
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
  ...{ references: new Set(), subjects: new Set(), keys: new Set(), purposes: new Set() },
  ...{ first: time, last: time },
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
