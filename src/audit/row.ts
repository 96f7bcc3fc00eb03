import { hash } from 'node:crypto'
import { steadyNow, toIsoTime } from '../contract/time.ts'
import type { AuditRow } from '../ledger/audit-row.ts'
import { addHash, addRow, createRowBuffer, type RowBuffer } from '../ledger/encoded-rows.ts'
import type { Head } from './audit-chains.ts'

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

/** Each computed once. There are as many as field policies of keys. */
const ids = new Map<string, string>()

/** The id of a field policy, which rows hold instead of the names: the beginning of the SHA-256 of its text. */
export function toPolicyId(fields: string): string {
  const known = ids.get(fields)
  if (known !== undefined) return known
  const id = hash('sha256', fields, 'base64url').slice(0, 22)
  ids.set(fields, id)
  return id
}

/** All values of the column `phase`. A test fails when one is missing here. */
export const AUDIT_PHASES = [
  'queued',
  'intent',
  'attempt',
  'outcome',
  'replay',
  'batch_accepted',
  'batch_read',
  'batch_cancelled',
  'picture_fetched',
  'key_created',
  'key_changed',
  'key_revoked',
  'key_rolled',
  'record_viewed',
  'record_revealed',
  'record_erased',
  'records_expired',
  'person_reported',
  'number_unlocked',
  'import_started',
  'imported',
  'catalogue_changed',
  'catalogue_sync',
  'catalogue_reviewed',
  'source_checked',
  'source_disabled',
  'source_enabled',
  'source_order_changed',
  'vendor_certified',
  'webhook_created',
  'webhook_rolled',
  'webhook_disabled',
  'webhook_enabled',
  'webhook_deleted',
  'webhook_tested',
  'webhook_resent',
  'notices_tested',
  'audit_searched',
  'audit_viewed',
  'audit_proved',
  'registry_counted',
  'audit_verified',
  'audit_exported',
  'log_archived',
  'root_rotation_started',
  'root_rotated',
  'backup_written',
  'restored',
  'signed_in',
  'sign_in_failed',
  'signed_out',
  'sessions_ended',
  'confirmed',
  'second_factor_added',
  'second_factor_removed',
  'second_factor_reset',
  'recovery_codes_renewed',
  'password_changed',
  'account_invited',
  'invitation_voided',
  'account_created',
  'account_reset',
  'account_removed',
  'role_changed',
  'token_created',
  'token_revoked',
  'token_refused',
] as const
