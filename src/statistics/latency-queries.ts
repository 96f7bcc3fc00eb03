import type { Database } from '../database/database.ts'
import type { Span } from '../ledger/tally.ts'
import { type StatisticsPeriod, toPeriodValues, toWithin } from './statistics-period.ts'

export type LatencyCount = {
  readonly span: Span
  readonly at: string
  readonly node: string
  readonly mode: string
  readonly class: number
  readonly count: number
}

/** The histogram of one span. */
export type LatencyStep = { readonly at: string; readonly class: number; readonly count: number }

export type LatencyQueries = {
  readonly latencies: (period: StatisticsPeriod) => Promise<Omit<LatencyStep, 'at'>[]>
  readonly latencySteps: (period: StatisticsPeriod) => Promise<LatencyStep[]>
  readonly addLatencies: (counts: readonly LatencyCount[]) => Promise<void>
}

/** Histograms of response times. */
export function createLatencyQueries(database: Database): LatencyQueries {
  const within = toWithin(database)
  const latencies = database.prepare(
    `SELECT class, SUM(count) AS count FROM latencies WHERE ${within} GROUP BY class ORDER BY class`,
  )
  const steps = database.prepare(
    `SELECT at, class, SUM(count) AS count FROM latencies WHERE ${within} GROUP BY at, class ORDER BY at, class`,
  )
  return {
    latencies: async (period) =>
      (await latencies.all(...toPeriodValues(period))).map((row) => ({
        class: Number(row.class),
        count: Number(row.count),
      })),
    latencySteps: async (period) =>
      (await steps.all(...toPeriodValues(period))).map((row) => ({
        at: String(row.at),
        class: Number(row.class),
        count: Number(row.count),
      })),
    addLatencies: (counts) => database.transaction((tx) => addLatencies(tx, counts)),
  }
}

async function addLatencies(tx: Database, counts: readonly LatencyCount[]): Promise<void> {
  await tx
    .prepare(
      `INSERT INTO latencies (span, at, node, mode, class, count) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (span, at, node, mode, class) DO UPDATE SET count = latencies.count + excluded.count`,
    )
    .runAll(counts.map((each) => [each.span, each.at, each.node, each.mode, each.class, each.count]))
}
