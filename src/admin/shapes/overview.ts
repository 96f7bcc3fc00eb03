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

/** Estimated from a histogram; null without verifications. */
const Latency = Type.Nullable(
  Type.Object({ p50_ms: Type.Number(), p95_ms: Type.Number(), p99_ms: Type.Number() }),
)

/** One point of the chart. */
export const Step = Type.Object({ at: Time, ...counts, latency: Latency })

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
  /** Callers get no answers from it: what alerts and "tabbat doctor" judge by. Also between two probes of a half-open breaker. */
  is_down: Type.Boolean(),
  /** Problems that the operator must solve. */
  warnings: Type.Array(Type.Enum(SOURCE_WARNINGS)),
})
export type SourceState = Static<typeof SourceState>

export const Overview = Type.Object({
  /** `custom` when `from` was given. */
  range: Type.Enum([...RANGES, 'custom'] as const),
  mode: Type.Enum(['live', 'test', 'all'] as const),
  generated_at: Time,
  /** The start of the first step and the end of the last. */
  from: Time,
  to: Time,
  /** Oldest first, without gaps. */
  steps: Type.Array(Step),
  step_seconds: Type.Integer(),
  totals: Type.Object(counts),
  /** (verified + not verified) / all; null without verifications. */
  success_rate: Type.Nullable(Type.Number()),
  latency: Latency,
  /** The period before, of the same length; null when its statistics are no longer kept. */
  before: Type.Nullable(
    Type.Object({
      from: Time,
      to: Time,
      /** Verifications of each step. */
      steps: Type.Array(Type.Integer()),
      totals: Type.Object(counts),
      success_rate: Type.Nullable(Type.Number()),
      latency: Latency,
    }),
  ),
  keys: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      mode: Mode,
      verifications: Type.Integer(),
      failed: Type.Integer(),
    }),
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
  {
    range: Type.Optional(Range),
    mode: Type.Optional(Type.Enum(['live', 'test', 'all'] as const)),
    /** A range of your own, instead of `range`. */
    from: Type.Optional(Time),
    /** Without it, the range ends now. */
    to: Type.Optional(Time),
  },
  strict,
)

/** Vendors and keys over the same steps as the overview. */
export const Charts = Type.Object({
  /** The start of each step, oldest first. */
  steps: Type.Array(Time),
  step_seconds: Type.Integer(),
  /** The busiest keys. */
  keys: Type.Array(
    Type.Object({ id: Type.String(), name: Type.String(), steps: Type.Array(Type.Integer()) }),
  ),
  /** Calls of all nodes; live traffic only, since test keys reach no vendor. */
  vendors: Type.Array(
    Type.Object({
      source: Type.String(),
      calls: Type.Integer(),
      errors: Type.Integer(),
      kobo: Type.Integer(),
      latency: Latency,
      steps: Type.Array(
        Type.Object({
          calls: Type.Integer(),
          errors: Type.Integer(),
          kobo: Type.Integer(),
          p95_ms: Type.Nullable(Type.Number()),
        }),
      ),
    }),
  ),
})
export type Charts = Static<typeof Charts>
