import type { Context } from '../context/context.ts'
import { type Static, Type } from '../contract/schema.ts'
import { SOURCE_WARNINGS } from '../sources/guard/call-guard.ts'
import type { SourceReport } from '../sources/source-control.ts'
import { readSourceReports } from '../sources/source-control.ts'
import { Operation } from './fields.ts'

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

/** The state of every source, as the console shows it. */
export async function readSourceStates({
  store,
  config,
}: Pick<Context, 'store' | 'config'>): Promise<SourceState[]> {
  return (await readSourceReports(store, config)).map(toSourceState)
}

function toSourceState(report: SourceReport): SourceState {
  const { source, operation, node, disabled, figures } = report
  return {
    source,
    operation,
    node,
    state: toState(report),
    disabled,
    calls: figures?.calls ?? null,
    recent_calls: figures?.recentCalls ?? null,
    warnings: [...(figures?.warnings ?? [])],
    error_rate: figures?.errorRate ?? null,
    p50_ms: figures?.p50 ?? null,
    p95_ms: figures?.p95 ?? null,
    p99_ms: figures?.p99 ?? null,
    last_success_at: figures?.lastSuccessAt ?? toLastSync(report),
    calls_today: report.callsToday,
    spent_kobo_today: report.spentKoboToday,
    cap_kobo: report.capKobo,
    is_capped: isCapped(report),
    is_down: figures?.down ?? false,
  }
}

const toLastSync = ({ lastSync }: SourceReport) =>
  lastSync && ['changed', 'unchanged'].includes(lastSync.outcome) ? lastSync.at : null

/** The rest of the daily cap is less than the price of one call. */
const isCapped = ({ capKobo, spentKoboToday, priceKobo }: SourceReport) =>
  capKobo !== null && spentKoboToday + priceKobo > capKobo

/** A catalogue source has no breaker; its state is the outcome of the last sync. */
function toState({ disabled, figures, lastSync }: SourceReport): string {
  if (disabled) return 'disabled'
  if (lastSync !== undefined) return lastSync?.outcome ?? 'not_asked'
  return figures?.state ?? 'not_running'
}
