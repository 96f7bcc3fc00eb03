import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from '../context/context.ts'
import { estimatePercentile } from '../statistics/latency-classes.ts'
import { type Range, type Step, toPeriod, toSteps } from '../statistics/steps.ts'
import type { NamedCount } from '../store/statistics-table.ts'
import type { Overview } from './shapes/overview.ts'
import { readSourceStates } from './source-states.ts'

export type OverviewQuery = { readonly range: Range; readonly mode: Overview['mode'] }

const MOST_KEYS = 10
const MOST_ERRORS = 10

/** The overview. Every figure comes from the statistics tables, whose size does not grow with the audit log. */
export async function toOverview(context: Context, { range, mode }: OverviewQuery): Promise<Overview> {
  const { statistics } = context.store
  const now = Date.now()
  const { span, from, stepSeconds } = toPeriod(range, now)
  const stretch = { span, from, mode: mode === 'all' ? null : mode }
  const steps = toSteps(range, now, await statistics.outcomes(stretch))
  const totals = addUp(steps)
  // SQLite is synchronous: other requests run between two queries.
  await nextTurn()
  const keys = await nameKeys(context, await statistics.byKey(stretch, MOST_KEYS))
  await nextTurn()
  const bySource = await statistics.bySource(stretch)
  await nextTurn()
  const errors = await statistics.lastErrors(stretch, MOST_ERRORS)
  return {
    range,
    mode,
    generated_at: new Date(now).toISOString(),
    steps,
    step_seconds: stepSeconds,
    totals,
    success_rate: toSuccessRate(totals),
    latency: toLatency(await statistics.latencies(stretch)),
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

/** One query per key: there are at most ten, and the table may hold thousands. */
const nameKeys = ({ store }: Context, counted: readonly NamedCount[]): Promise<Overview['keys']> =>
  Promise.all(
    counted.map(async ({ name: id, count }) => {
      const { name, mode } = (await store.keys.find(id)) ?? { name: 'public sandbox key', mode: 'test' }
      return { id, name, mode, verifications: count }
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

function toLatency(counts: Parameters<typeof estimatePercentile>[0]): Overview['latency'] {
  const read = (part: number) => Math.round((estimatePercentile(counts, part) ?? 0) * 100) / 100
  return counts.length === 0 ? null : { p50_ms: read(0.5), p95_ms: read(0.95), p99_ms: read(0.99) }
}
