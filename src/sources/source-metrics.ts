import { type Metric, toCounter, toGauge, toSample } from '../telemetry/metric.ts'
import { type CallGuard, type GuardFigures, SOURCE_WARNINGS } from './guard/call-guard.ts'
import type { SourceChain } from './source-chain.ts'

const STATES = ['closed', 'half_open', 'open', 'disabled'] as const

/** State, calls, failures and times of each source, as this process sees it. */
export function toSourceMetrics(guards: readonly CallGuard[]): Metric[] {
  if (guards.length === 0) return []
  const figures = guards.map(({ name: source, operation, read, failures }) => ({
    labels: { source, operation },
    figures: read(),
    failures: failures(),
  }))
  type Figures = (typeof figures)[number]['figures']
  const gauge = (name: string, help: string, read: (each: Figures) => number | null) =>
    toGauge(
      `tabbat_source_${name}`,
      help,
      figures.flatMap(({ labels, figures: each }) => {
        const value = read(each)
        return value === null ? [] : [toSample(labels, value)]
      }),
    )
  const times = (['p50', 'p95', 'p99'] as const).map((part) =>
    gauge(
      `call_duration_${part}_seconds`,
      `Time of the calls of the last five minutes, ${part}.`,
      ({ [part]: ms }) => (ms === null ? null : ms / 1000),
    ),
  )
  return [
    gauge(
      'state',
      `State of a source: ${STATES.map((state, index) => `${index} ${state}`).join(', ')}.`,
      ({ state }) => STATES.indexOf(state),
    ),
    gauge(
      'down',
      '1 while requests get no answer from a source: its breaker is not closed, or half of them failed in five minutes.',
      ({ down }) => Number(down),
    ),
    toRequestsMetric(figures),
    toCounter(
      'tabbat_source_calls_total',
      'Calls since the start.',
      figures.map(({ labels, figures: { calls } }) => toSample(labels, calls)),
    ),
    gauge(
      'error_ratio',
      'Part of the calls of the last five minutes that failed.',
      ({ errorRate }) => errorRate,
    ),
    ...times,
    gauge(
      'last_success_timestamp_seconds',
      'When a call was last answered, in Unix time.',
      ({ lastSuccessAt }) => (lastSuccessAt === null ? null : Date.parse(lastSuccessAt) / 1000),
    ),
    toCounter(
      'tabbat_source_failures_total',
      'Calls that failed since the start, by reason.',
      figures.flatMap(({ labels, failures }) =>
        [...failures].map(([reason, count]) => toSample({ ...labels, reason }, count)),
      ),
    ),
    toWarningsMetric(figures),
  ]
}

type Labelled = {
  readonly labels: { readonly source: string; readonly operation: string }
  readonly figures: GuardFigures
}

const toWarningsMetric = (labelled: readonly Labelled[]): Metric =>
  toGauge(
    'tabbat_source_warning',
    `1 while a source needs the operator: ${SOURCE_WARNINGS.join(', ')}.`,
    labelled.flatMap(({ labels, figures: { warnings } }) =>
      SOURCE_WARNINGS.map((reason) => toSample({ ...labels, reason }, warnings.includes(reason) ? 1 : 0)),
    ),
  )

const toRequestsMetric = (labelled: readonly Labelled[]): Metric =>
  toCounter(
    'tabbat_source_requests_total',
    'Requests that needed a source since the start, by result: answered, unusable (perhaps about one person only), failed, or skipped because it failed before or asked for a pause.',
    labelled.flatMap(({ labels, figures: { calls, failures, sourceFailures: failed, skipped } }) =>
      Object.entries({
        answered: calls - failures,
        unusable: failures - failed,
        failed,
        skipped,
      }).map(([result, count]) => toSample({ ...labels, result }, count)),
    ),
  )

/** The spend of all nodes, from the store. While the store is unavailable, the last figures are repeated. */
export function createSpendMetric({
  guards,
  listSpend,
  prices,
}: Pick<SourceChain, 'guards' | 'listSpend' | 'prices'>): () => Promise<Metric[]> {
  if (guards.length === 0) return async () => []
  const caps = [...new Set(guards.map(({ name }) => name))].flatMap((source) => {
    const kobo = prices[source]?.dailyCap
    return kobo === undefined ? [] : [toSample({ source }, kobo / 100)]
  })
  let spend: Awaited<ReturnType<typeof listSpend>> = []
  return async () => {
    spend = await listSpend().catch(() => spend)
    const samples = spend.map(({ name, kobo }) => toSample({ source: name }, kobo / 100))
    return [
      toGauge('tabbat_source_spend_today_naira', 'Cost of the calls of today, on all nodes.', samples),
      toGauge('tabbat_source_spend_cap_naira', 'The most that the calls of a day may cost.', caps),
    ]
  }
}
