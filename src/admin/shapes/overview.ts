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
  /** closed, half_open, open, disabled, not_running, or the outcome of the last catalogue sync. */
  state: Type.String(),
  disabled: Type.Boolean(),
  calls: Type.Nullable(Type.Integer()),
  /** In the last five minutes, like the error rate and the latencies. */
  recent_calls: Type.Nullable(Type.Integer()),
  error_rate: Type.Nullable(Type.Number()),
  p50_ms: Type.Nullable(Type.Number()),
  p95_ms: Type.Nullable(Type.Number()),
  p99_ms: Type.Nullable(Type.Number()),
  last_success_at: Type.Nullable(Type.String()),
  calls_today: Type.Integer(),
  spent_kobo_today: Type.Integer(),
  cap_kobo: Type.Nullable(Type.Integer()),
  /** The rest of the daily cap is less than one call: the source is not called until midnight in Lagos. */
  is_capped: Type.Boolean(),
  /** Problems that the operator must solve. */
  warnings: Type.Array(Type.Enum(SOURCE_WARNINGS)),
})
export type SourceState = Static<typeof SourceState>

export const Overview = Type.Object({
  range: Range,
  mode: Type.Enum(['live', 'test', 'all'] as const),
  generated_at: Time,
  /** Oldest first, without gaps. */
  steps: Type.Array(Step),
  step_seconds: Type.Integer(),
  totals: Type.Object(counts),
  /** (verified + not verified) / all; null without verifications. */
  success_rate: Type.Nullable(Type.Number()),
  /** Estimated from a histogram; null without verifications. */
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
      /** Equal errors of this key in the same time span. */
      count: Type.Integer(),
    }),
  ),
})
export type Overview = Static<typeof Overview>

export const OverviewQuery = Type.Object(
  { range: Type.Optional(Range), mode: Type.Optional(Type.Enum(['live', 'test', 'all'] as const)) },
  strict,
)
