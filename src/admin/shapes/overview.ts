import { type Static, Type } from '../../contract/schema.ts'
import { SOURCE_WARNINGS } from '../../sources/guard/call-guard.ts'
import { RANGES } from '../../statistics/steps.ts'
import { Mode, Operation, strict, Time } from './fields.ts'

export const Range = Type.Enum(RANGES)

const counts = {
  verified: Type.Integer(),
  not_verified: Type.Integer(),
  failed: Type.Integer(),
}

/** One point of the chart. */
export const Step = Type.Object({ at: Time, ...counts })

export const SourceState = Type.Object({
  source: Type.String(),
  operation: Operation,
  node: Type.Nullable(Type.String()),
  /** closed, half_open, open, disabled, not_running, or how the last sync of lists ended. */
  state: Type.String(),
  disabled: Type.Boolean(),
  calls: Type.Nullable(Type.Integer()),
  /** In the last five minutes, like the error rate and the times. */
  recent_calls: Type.Nullable(Type.Integer()),
  error_rate: Type.Nullable(Type.Number()),
  p50_ms: Type.Nullable(Type.Number()),
  p95_ms: Type.Nullable(Type.Number()),
  p99_ms: Type.Nullable(Type.Number()),
  last_success_at: Type.Nullable(Type.String()),
  calls_today: Type.Integer(),
  spent_kobo_today: Type.Integer(),
  cap_kobo: Type.Nullable(Type.Integer()),
  /** What is left of the cap does not pay for another call: it is not asked until midnight in Lagos. */
  is_capped: Type.Boolean(),
  /** What the operator must see to. */
  warnings: Type.Array(Type.Enum(SOURCE_WARNINGS)),
})
export type SourceState = Static<typeof SourceState>

export const Overview = Type.Object({
  range: Range,
  mode: Type.Enum(['live', 'test', 'all'] as const),
  generated_at: Time,
  /** In the order of time, without holes. */
  steps: Type.Array(Step),
  step_seconds: Type.Integer(),
  totals: Type.Object(counts),
  /** Verified and not verified, of all; null while there is nothing. */
  success_rate: Type.Nullable(Type.Number()),
  /** Estimated from counts in classes; null while there is nothing. */
  latency: Type.Nullable(
    Type.Object({ p50_ms: Type.Number(), p95_ms: Type.Number(), p99_ms: Type.Number() }),
  ),
  keys: Type.Array(
    Type.Object({ id: Type.String(), name: Type.String(), mode: Mode, verifications: Type.Integer() }),
  ),
  by_source: Type.Array(Type.Object({ source: Type.String(), verifications: Type.Integer() })),
  sources: Type.Array(SourceState),
  errors: Type.Array(
    Type.Object({
      at: Time,
      operation: Operation,
      outcome: Type.String(),
      key_id: Type.Nullable(Type.String()),
      reference: Type.Nullable(Type.String()),
      /** How often the same happened to this key in the same span. */
      count: Type.Integer(),
    }),
  ),
})
export type Overview = Static<typeof Overview>

export const OverviewQuery = Type.Object(
  { range: Type.Optional(Range), mode: Type.Optional(Type.Enum(['live', 'test', 'all'] as const)) },
  strict,
)
