import { hash } from 'node:crypto'
import { steadyNow, toIsoTime } from '../contract/time.ts'
import type { Head } from '../store/audit-chains.ts'
import { AUDIT_COLUMNS, type AuditRow } from '../store/audit-row.ts'
import { toPolicyId } from './released-fields.ts'

/** An event before it has a position in the log. Absent fields become null. `fields_released` are the names of the fields. */
export type AuditEntry = Partial<
  Omit<AuditRow, 'chain' | 'sequence' | 'time' | 'phase' | 'format' | 'previous_hash' | 'hash'>
> & { readonly phase: string; readonly time?: string }

/** The format of new rows. */
const FORMAT = 2
const NULL_LENGTH = 0xffffffff
/** The fields of the encoding, in the order of the table. */
const ENCODED = AUDIT_COLUMNS.filter(
  (column) => column !== 'format' && column !== 'previous_hash' && column !== 'hash',
)

/** The head of an empty chain. */
export const EMPTY_HEAD: Head = { sequence: 0, hash: Buffer.alloc(32) }

/** Makes rows of the entries, each with the hash of the row before it. */
export function linkEntries(chain: string, head: Head, entries: readonly AuditEntry[]): AuditRow[] {
  let { sequence, hash: previous } = head
  return entries.map((entry) => {
    sequence += 1
    const row = toRow(chain, sequence, previous, entry)
    previous = row.hash
    return row
  })
}

function toRow(chain: string, sequence: number, previous_hash: Uint8Array, entry: AuditEntry): AuditRow {
  const row = {
    chain,
    sequence,
    time: entry.time ?? toIsoTime(steadyNow()),
    phase: entry.phase,
    request_reference: entry.request_reference ?? null,
    key_id: entry.key_id ?? null,
    mode: entry.mode ?? null,
    operation: entry.operation ?? null,
    subject: entry.subject ?? null,
    outcome: entry.outcome ?? null,
    sources: entry.sources ?? null,
    amount: entry.amount ?? null,
    consent_reference: entry.consent_reference ?? null,
    fields_released: entry.fields_released ? toPolicyId(entry.fields_released) : null,
    detail: entry.detail ?? null,
    started_at: entry.started_at ?? null,
    format: FORMAT,
    previous_hash,
    hash: previous_hash,
  }
  // In place: a copy of all fields costs more than the hash.
  row.hash = hashRow(row)
  return row
}

/** One buffer for all rows, made larger for a row that does not fit. */
let scratch = Buffer.alloc(16 * 1024)

/** SHA-256 of the format, the fields with their lengths, and the hash before. See docs/audit-format.md. */
function hashRow(row: Omit<AuditRow, 'hash'>): Buffer {
  let end = scratch.writeUInt8(FORMAT, 0)
  for (const column of ENCODED) {
    const value = row[column]
    if (value === null) {
      end = scratch.writeUInt32BE(NULL_LENGTH, end)
      continue
    }
    const text = String(value)
    // No text has more bytes than three for each unit.
    makeRoom(end + 4 + text.length * 3 + row.previous_hash.length)
    const length = scratch.write(text, end + 4)
    end = scratch.writeUInt32BE(length, end) + length
  }
  scratch.set(row.previous_hash, end)
  end += row.previous_hash.length
  // Through a string: allocating a native buffer costs more than the hash.
  return Buffer.from(hash('sha256', scratch.subarray(0, end), 'hex'), 'hex')
}

function makeRoom(size: number): void {
  if (size + 64 <= scratch.length) return
  const larger = Buffer.alloc(size * 2)
  scratch.copy(larger)
  scratch = larger
}
