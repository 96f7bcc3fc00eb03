import { hash } from 'node:crypto'
import { steadyNow, toIsoTime } from '../contract/time.ts'
import type { AuditRow } from '../ledger/audit-row.ts'
import { addHash, addRow, createRowBuffer, type RowBuffer } from '../ledger/encoded-rows.ts'
import type { Head } from './audit-chains.ts'
import { toPolicyId } from './released-fields.ts'

/** An event before it has a position in the log. Absent fields become null. `fields_released` are the names of the fields. */
export type AuditEntry = Partial<
  Omit<AuditRow, 'chain' | 'sequence' | 'time' | 'phase' | 'format' | 'previous_hash' | 'hash'>
> & { readonly phase: string; readonly time?: string }

/** The format of new rows. */
const FORMAT = 2

/** The head of an empty chain. */
export const EMPTY_HEAD: Head = { sequence: 0, hash: Buffer.alloc(32) }

/** Makes rows of the entries, each with the hash of the row before it. Adds what is hashed to the buffer. */
export function linkEntries(
  chain: string,
  head: Head,
  entries: readonly AuditEntry[],
  buffer: RowBuffer = createRowBuffer(entries.length),
): AuditRow[] {
  let { sequence, hash: previous } = head
  return entries.map((entry) => {
    sequence += 1
    const row = toRow(chain, sequence, previous, entry, buffer)
    previous = row.hash
    return row
  })
}

function toRow(
  chain: string,
  sequence: number,
  previous_hash: Uint8Array,
  entry: AuditEntry,
  buffer: RowBuffer,
): AuditRow {
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
  row.hash = hashRow(buffer, row)
  return row
}

/** SHA-256 of the format, the fields with their lengths, and the hash before. See docs/audit-format.md. */
function hashRow(buffer: RowBuffer, row: Omit<AuditRow, 'hash'>): Buffer {
  const start = buffer.end
  addRow(buffer, row)
  // Through a string: allocating a native buffer costs more than the hash.
  const digest = Buffer.from(hash('sha256', buffer.bytes.subarray(start, buffer.end), 'hex'), 'hex')
  addHash(buffer, digest)
  return digest
}
