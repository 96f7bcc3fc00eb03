import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from '../context/context.ts'
import { type Static, Type } from '../contract/schema.ts'
import type { SourceCallStep } from '../statistics/source-call-table.ts'
import { type KeyStep, MAX_KEY_STEPS } from '../statistics/statistics-table.ts'
import { type Period, toStepSeconds, toSteps } from '../statistics/steps.ts'
import { Time } from './fields.ts'
import {
  Latency,
  nameKeys,
  type OverviewQuery,
  readPeriod,
  toLatency,
  toStretch,
} from './overview-figures.ts'

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

/** Vendors and keys over the steps of the overview. */
export async function toCharts(context: Context, query: OverviewQuery): Promise<Charts> {
  const { statistics, sourceCalls } = context.store
  const period = readPeriod(query, Date.now())
  const stretch = toStretch(period, query.mode)
  const keys = await nameKeys(context, await statistics.byKey(stretch, MAX_KEY_STEPS))
  await nextTurn()
  const keySteps = await statistics.keySteps(
    stretch,
    keys.map(({ id }) => id),
  )
  await nextTurn()
  const calls = Map.groupBy(await sourceCalls.list(stretch), ({ source }) => source)
  return {
    steps: toSteps(period, []).map(({ at }) => at),
    step_seconds: toStepSeconds(period),
    keys: keys.map(({ id, name }) => ({ id, name, steps: toKeySteps(period, id, keySteps) })),
    vendors: [...calls].map(([source, rows]) => toVendor(period, source, rows)),
  }
}

function toKeySteps({ names }: Period, id: string, steps: readonly KeyStep[]): number[] {
  const counts = new Map(steps.filter(({ key }) => key === id).map(({ at, count }) => [at, count]))
  return names.map((name) => counts.get(name) ?? 0)
}

function toVendor(
  { names }: Period,
  source: string,
  rows: readonly SourceCallStep[],
): Charts['vendors'][number] {
  const byName = Map.groupBy(rows, ({ at }) => at)
  const steps = names.map((name) => {
    const within = byName.get(name) ?? []
    return { ...addUp(within), p95_ms: toVendorLatency(within)?.p95_ms ?? null }
  })
  return { source, ...addUp(rows), latency: toVendorLatency(rows), steps }
}

/** A call that our own deadline cut short says nothing about how long the vendor takes. */
const toVendorLatency = (rows: readonly SourceCallStep[]) =>
  toLatency(rows.filter(({ result }) => result !== 'cut'))

const addUp = (rows: readonly SourceCallStep[]) =>
  rows.reduce(
    (sum, { result, count, kobo }) => ({
      calls: sum.calls + count,
      errors: sum.errors + (result === 'failed' ? count : 0),
      kobo: sum.kobo + kobo,
    }),
    { calls: 0, errors: 0, kobo: 0 },
  )
