import { TEXT_COLUMNS } from '../database/row-pages.ts'

/** A row of the audit log. It never holds a number, phone, name, key or body; `subject` is a keyed hash in hex. */
export type AuditRow = {
  readonly chain: string
  readonly sequence: number
  readonly time: string
  readonly phase: string
  readonly request_reference: string | null
  readonly key_id: string | null
  readonly mode: string | null
  readonly operation: string | null
  readonly subject: string | null
  readonly outcome: string | null
  readonly sources: string | null
  readonly amount: string | null
  readonly consent_reference: string | null
  /** The id of a field policy. */
  readonly fields_released: string | null
  readonly detail: string | null
  /** When the verification began, in the row of a verification that has no intent row. */
  readonly started_at: string | null
  /** The version of the encoding that is hashed; see docs/audit-format.md. */
  readonly format: number
  readonly previous_hash: Uint8Array
  readonly hash: Uint8Array
}

/** A row as it is read, with the names of the released fields. */
export type LoggedRow = AuditRow & { readonly released: string | null }

/** Names of fields that responses disclose, stored once. */
export type FieldPolicy = { readonly id: string; readonly fields: string }

export const AUDIT_COLUMNS = [
  'chain',
  'sequence',
  ...TEXT_COLUMNS,
  'format',
  'previous_hash',
  'hash',
] as const satisfies readonly (keyof AuditRow)[]
