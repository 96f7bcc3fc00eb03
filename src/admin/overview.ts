import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from '../context/context.ts'
import { estimatePercentile } from '../statistics/latency-classes.ts'
import {
  type Period,
  type Step,
  toBounds,
  toFirstKept,
  toPeriodBefore,
  toStepSeconds,
  toSteps,
} from '../statistics/steps.ts'
import type { LatencyStep } from '../store/latency-queries.ts'
import type { KeyCount } from '../store/statistics-table.ts'
import { type OverviewQuery, readPeriod, toStretch } from './overview-period.ts'
import type { Overview } from './shapes/overview.ts'
import { readSourceStates } from './source-states.ts'

const MOST_KEYS = 10
const MOST_ERRORS = 10

/** The overview. Every figure comes from the statistics tables, whose size does not grow with the audit log. */
export async function toOverview(context: Context, query: OverviewQuery): Promise<Overview> {
  const { statistics } = context.store
  const now = Date.now()
  const { range, mode, from } = query
  const period = readPeriod(query, now)
  const stretch = toStretch(period, mode)
  const steps = toSteps(period, await statistics.outcomes(stretch))
  const totals = addUp(steps)
  // SQLite is synchronous: other requests run between two queries.
  await nextTurn()
  const keys = await nameKeys(context, await statistics.byKey(stretch, MOST_KEYS))
  await nextTurn()
  const bySource = await statistics.bySource(stretch)
  await nextTurn()
  const errors = await statistics.lastErrors(stretch, MOST_ERRORS)
  await nextTurn()
  const latencies = await statistics.latencySteps(stretch)
  await nextTurn()
  return {
    range: from === undefined ? range : 'custom',
    mode,
    generated_at: new Date(now).toISOString(),
    ...toBounds(period),
    steps: addLatencies(period, steps, latencies),
    step_seconds: toStepSeconds(period),
    totals,
    success_rate: toSuccessRate(totals),
    latency: toLatency(latencies),
    before: await toBefore(
      context,
      toPeriodBefore(period, toFirstKept(now, context.config.statisticsKeep)),
      mode,
    ),
    keys,
    by_source: bySource.map(({ name, count }) => ({ source: name, verifications: count })),
    sources: await readSourceStates(context),
    errors: errors.map((error) => ({
      at: error.at,
      operation: error.operation,
      outcome: error.outcome,
      key_id: error.key_id || null,
      reference: error.reference || null,
      count: error.count,
    })),
  }
}

/** The same figures of the period before, for comparison. Null when its statistics are no longer kept. */
async function toBefore(
  { store: { statistics } }: Context,
  period: Period | undefined,
  mode: Overview['mode'],
): Promise<Overview['before']> {
  if (!period) return null
  const stretch = toStretch(period, mode)
  const steps = toSteps(period, await statistics.outcomes(stretch))
  await nextTurn()
  const totals = addUp(steps)
  return {
    ...toBounds(period),
    steps: steps.map(({ verified, not_verified, failed }) => verified + not_verified + failed),
    totals,
    success_rate: toSuccessRate(totals),
    latency: toLatency(await statistics.latencies(stretch)),
  }
}

function addLatencies(
  { names }: Period,
  steps: readonly Step[],
  latencies: readonly LatencyStep[],
): Overview['steps'] {
  const byName = Map.groupBy(latencies, ({ at }) => at)
  return steps.map((step, index) => ({ ...step, latency: toLatency(byName.get(names[index] ?? '') ?? []) }))
}

/** One query per key: there are at most ten, and the table may hold thousands. */
export const nameKeys = ({ store }: Context, counted: readonly KeyCount[]): Promise<Overview['keys']> =>
  Promise.all(
    counted.map(async ({ name: id, count, failed }) => {
      const { name, mode } = (await store.keys.find(id)) ?? { name: 'public sandbox key', mode: 'test' }
      return { id, name, mode, verifications: count, failed }
    }),
  )

type Totals = Pick<Step, 'verified' | 'not_verified' | 'failed'>

const addUp = (steps: readonly Step[]): Totals =>
  steps.reduce(
    (sum, step) => ({
      verified: sum.verified + step.verified,
      not_verified: sum.not_verified + step.not_verified,
      failed: sum.failed + step.failed,
    }),
    { verified: 0, not_verified: 0, failed: 0 },
  )

/** "Not verified" is a success: only requests without an answer count as failed. */
function toSuccessRate({ verified, not_verified, failed }: Totals): number | null {
  const total = verified + not_verified + failed
  return total === 0 ? null : (verified + not_verified) / total
}

export function toLatency(counts: Parameters<typeof estimatePercentile>[0]): Overview['latency'] {
  const read = (part: number) => Math.round((estimatePercentile(counts, part) ?? 0) * 100) / 100
  return counts.length === 0 ? null : { p50_ms: read(0.5), p95_ms: read(0.95), p99_ms: read(0.99) }
}
