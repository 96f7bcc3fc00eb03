import type { Context } from '../context/context.ts'
import { readSourceReports } from '../context/source-control.ts'
import type { SourceReport } from '../sources/status-report.ts'
import type { SourceState } from './shapes/overview.ts'

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
