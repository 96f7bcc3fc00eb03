import { readSourceAttempts } from '../audit/export.ts'
import { findShared, type Timeline } from '../audit/timeline.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import type { AuditRowView, VerificationView } from './shapes/audit.ts'

type KeyNames = ReadonlyMap<string | null, string>

/** Without the subject hash: it would show that two rows are about the same person. */
export const toRowView = (row: LoggedRow, keyNames: KeyNames): AuditRowView => ({
  chain: row.chain,
  sequence: row.sequence,
  time: row.time,
  started_at: row.started_at,
  phase: row.phase,
  request_reference: row.request_reference,
  key_id: row.key_id,
  key_name: keyNames.get(row.key_id) ?? null,
  mode: row.mode,
  operation: row.operation,
  outcome: row.outcome,
  source_attempts: readSourceAttempts(row),
  amount: row.amount,
  consent_reference: row.consent_reference,
  fields_released: row.released,
  detail: row.detail,
  hash: Buffer.from(row.hash).toString('hex'),
})

export function toVerificationView(timeline: Timeline, keyNames: KeyNames): VerificationView {
  const { reference, startedAt, main, outcome, sourceAttempts } = timeline
  return {
    reference,
    started_at: startedAt,
    ended_at: main.phase === 'outcome' ? main.time : null,
    outcome,
    operation: main.operation,
    mode: main.mode,
    key_id: main.key_id,
    key_name: keyNames.get(main.key_id) ?? null,
    source_attempts: [...sourceAttempts],
    consent_reference: findShared(timeline, 'consent_reference'),
  }
}
