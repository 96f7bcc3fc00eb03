import { ATTEMPT_PROBLEMS, type AttemptProblem, type AttemptResult } from './attempt.ts'
import type { DeliveryRow } from './delivery-table.ts'
import type { EndpointRow } from './webhook-table.ts'

const time = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString())

/** An endpoint without its secret, for the CLI and the admin API. */
export const toEndpointView = (row: EndpointRow, pending: number) => ({
  id: row.id,
  name: row.name,
  url: row.url,
  /** An endpoint that fails still gets events. */
  state: toEndpointState(row),
  events: [...row.events],
  keys: [...row.lineages],
  pending,
  created_at: time(row.createdAt),
  failing_since: time(row.failingSince),
  disabled_at: time(row.disabledAt),
  disabled_reason: row.disabledReason ?? null,
  old_secret_until: time(row.previousUntil),
})

export const toEndpointState = ({ disabledAt, failingSince }: EndpointRow) => {
  if (disabledAt !== undefined) return 'disabled' as const
  return failingSince === undefined ? ('active' as const) : ('failing' as const)
}

/** Counts of pending deliveries end here. */
export const MAX_COUNTED = 10_000

export const toDeliveryView = (row: DeliveryRow) => ({
  event_id: row.eventId,
  type: row.type,
  reference: row.reference,
  state: row.state,
  next_attempt_at: time(row.dueAt),
  finished_at: time(row.finishedAt),
  body: row.body,
  attempts: row.attempts.map(({ attempt, at, status, durationMs, problem }) => ({
    attempt,
    at: new Date(at).toISOString(),
    status: status ?? null,
    duration_ms: durationMs,
    problem: problem ?? null,
  })),
})

export const toTestView = ({ status, durationMs, problem }: AttemptResult) => ({
  ok: problem === undefined,
  status: status ?? null,
  duration_ms: durationMs,
  problem: problem ?? null,
  explanation: problem === undefined ? 'The receiver accepted the test event.' : toExplanation(problem),
})

const toExplanation = (problem: AttemptProblem) =>
  ATTEMPT_PROBLEMS[problem] ?? 'The test event could not be sent.'
