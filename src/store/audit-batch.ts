import type { AuditRow } from './audit-row.ts'
import type { CheckBatch, Refused } from './commit-check.ts'
import type { EncodedRows } from './encoded-rows.ts'
import type { ClaimId } from './idempotency-table.ts'
import type { Tally } from './statistics-table.ts'

/** Rows as the database takes them: PostgreSQL as JSON text, which it unpacks itself, SQLite as the bytes that were hashed. */
type PackedRows = string | EncodedRows

/** `encoded` are the same rows, if they were encoded before. */
export type PackRows = (rows: readonly AuditRow[], encoded?: EncodedRows) => PackedRows

/**
 * Writes all rows, completions and tallies in one commit, with what the checks count; or nothing, if a check refuses a
 * verification.
 */
export type Append = (
  rows: PackedRows,
  completions: readonly Completion[],
  tallies?: readonly Tally[],
  checks?: CheckBatch,
) => Promise<Appended>

/** What is written in one commit. */
export type AuditBatch<Rows extends PackedRows> = {
  readonly rows: Rows
  readonly completions: readonly Completion[]
  readonly tallies: readonly Tally[]
  readonly checks: CheckBatch | undefined
}

/** The first response under an Idempotency-Key, stored in the same commit as its audit rows. */
export type Completion = {
  readonly claim: ClaimId
  readonly sealed: Uint8Array
  /** Until when the response is kept. */
  readonly expiresAt: number
}

export type Appended = {
  /** If there are any, nothing was written. */
  readonly refused: Refused
  /** Indexes of the completions whose claim another request has taken: those are not written. */
  readonly late: readonly number[]
}

/** Stores a response whose Idempotency-Key was claimed before. Changes nothing if the claim was lost. */
export const COMPLETE = `UPDATE idempotency SET sealed = $5, expires_at = $6
  WHERE key_id = $1 AND operation = $2 AND name = $3 AND owner = $4`
