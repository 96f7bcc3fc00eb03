import type { AuditSnapshot, Cells } from './audit-snapshot.ts'
import { HASHED_FIELDS, type RowHasher, ZERO_HASH } from './verify-row.ts'

/** The first fault: where it is, and a sentence about it. */
export type Fault = {
  readonly chain: string | null
  readonly sequence: number | null
  readonly reason: string
}

/** The sound part of a chain: the sequence and the hash of its last good row. */
export type SoundPrefix = { readonly length: number; readonly hash: string }

const ROWS_AT_ONCE = 1000
const SEQUENCE_AT = HASHED_FIELDS.indexOf('sequence')
const RELEASED_AT = HASHED_FIELDS.indexOf('fields_released')
const FORMAT_AT = HASHED_FIELDS.length
const PREVIOUS_AT = FORMAT_AT + 1
const HASH_AT = PREVIOUS_AT + 1

/** Checks a chain row by row. Returns where it ends, or its first fault. Collects the references to field policies. */
export async function verifyChain(
  scan: AuditSnapshot,
  chain: string,
  hashRow: RowHasher,
  onRows: (rows: number) => void,
  references: Set<unknown>,
): Promise<SoundPrefix | Fault> {
  let place: SoundPrefix = { length: 0, hash: ZERO_HASH }
  let next = scan.rows(chain, 0, ROWS_AT_ONCE)
  for (;;) {
    const rows = await next.catch(toNoRows)
    if (!rows) return { chain, sequence: place.length + 1, reason: UNREADABLE }
    if (rows.length === 0) return place
    // Reads the next page while this one is hashed. A failure is handled in the next round.
    next = scan.rows(chain, place.length + rows.length, ROWS_AT_ONCE)
    next.catch(() => {})
    const result = verifyRows(rows, place, hashRow, references)
    if ('reason' in result) return { chain, ...result }
    place = result
    onRows(rows.length)
  }
}

function verifyRows(
  rows: readonly Cells[],
  { length, hash }: SoundPrefix,
  hashRow: RowHasher,
  references: Set<unknown>,
): SoundPrefix | Omit<Fault, 'chain'> {
  let sequence = length
  let previous = hash
  for (const row of rows) {
    sequence += 1
    const computed = hashRow(row, previous, row[FORMAT_AT])
    if (row[SEQUENCE_AT] !== sequence || row[PREVIOUS_AT] !== previous || row[HASH_AT] !== computed)
      return { sequence, reason: explain(row, sequence, previous, computed) }
    if (row[FORMAT_AT] !== 1) references.add(row[RELEASED_AT])
    previous = computed as string
  }
  return { length: sequence, hash: previous }
}

const UNREADABLE = 'the row holds an impossible number: it was changed'

function explain(row: Cells, sequence: number, previous: string, computed: string | undefined): string {
  const found = row[SEQUENCE_AT]
  if (!Number.isSafeInteger(found)) return 'the row holds an impossible sequence: it was changed'
  if (found !== sequence) return `the row is missing: the next row is row ${found}`
  if (computed === undefined) return 'the row holds a value that its format does not allow: it was changed'
  if (row[PREVIOUS_AT] !== previous)
    return 'the row does not follow the row before it: one of the two was changed, removed or inserted'
  return 'the hash of the row does not match its content: the row was changed'
}

/** SQLite can hold integers that JavaScript cannot; a genuine log holds none. */
function toNoRows(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_OUT_OF_RANGE') throw error
  return undefined
}
