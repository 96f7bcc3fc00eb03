import { readSourceAttempts } from '../audit/export.ts'
import { readPurpose } from '../contract/free-text.ts'
import type { PersonRequest } from '../contract/person-report.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'

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
