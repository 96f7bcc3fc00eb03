import type { AuditRow } from './audit-row.ts'
import type { CheckBatch, Refusal, Refused } from './commit-check.ts'
import type { Completion } from './completion.ts'
import type { EncodedRows } from './encoded-rows.ts'
import type { QueueBatch, QueueRefusal } from './queue-change.ts'
import type { Tally } from './tally.ts'

/** Rows as the database takes them: PostgreSQL as records, which it unpacks itself, SQLite as the bytes that were hashed. */
type PackedRows = RecordRows | EncodedRows

/** Rows of one chain, which follow `previous`. */
export type RecordRows = {
  readonly records: Uint8Array
  readonly chain: string
  readonly previous: { readonly sequence: number; readonly hash: Uint8Array }
}

/** `encoded` are the same rows, if they were encoded before. */
export type PackRows = (rows: readonly AuditRow[], encoded?: EncodedRows) => PackedRows

/**
 * Writes all rows, completions, changes of the queue and tallies in one commit, with what the checks count; or nothing, if a
 * check or the queue refuses a verification.
 */
export type Append = (
  rows: PackedRows,
  completions: readonly Completion[],
  tallies?: readonly Tally[],
  checks?: CheckBatch,
  queue?: QueueBatch,
) => Promise<Appended>

/** What is written in one commit. */
export type AuditBatch<Rows extends PackedRows> = {
  readonly rows: Rows
  readonly completions: readonly Completion[]
  readonly tallies: readonly Tally[]
  readonly checks: CheckBatch | undefined
}

export type Appended = {
  /** If there are any, nothing was written. */
  readonly refused: Refused<Refusal | QueueRefusal>
  /** Indexes of the completions whose claim another request has taken: those are not written. */
  readonly late: readonly number[]
}
