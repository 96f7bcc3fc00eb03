import type { Database, Row } from './database.ts'
import { deleteSome } from './delete-some.ts'
import { SPANS, type Span, toSpanName } from './span.ts'

export type LatencyCount = {
  readonly span: Span
  readonly at: string
  readonly node: string
  readonly mode: string
  readonly class: number
  readonly count: number
}

export type OutcomeCount = { readonly at: string; readonly outcome: string; readonly count: number }
export type NamedCount = { readonly name: string; readonly count: number }
type LastError = {
  readonly at: string
  readonly operation: string
  readonly outcome: string
  readonly key_id: string
  readonly reference: string
  readonly count: number
}

/** All spans of one length since a name, of one mode or of all modes (null). */
type Period = { readonly span: Span; readonly from: string; readonly mode: string | null }

export type StatisticsTable = {
  readonly outcomes: (period: Period) => Promise<OutcomeCount[]>
  readonly byKey: (period: Period, most: number) => Promise<NamedCount[]>
  readonly bySource: (period: Period) => Promise<NamedCount[]>
  /** Equal failures of one key in one span are one row, with their count. */
  readonly lastErrors: (period: Period, most: number) => Promise<LastError[]>
  readonly latencies: (period: Period) => Promise<{ readonly class: number; readonly count: number }[]>
  /** Verifications of each key since a day, and the hour of the last. */
  readonly usageByKey: (
    sinceDay: string,
  ) => Promise<{ key_id: string; verifications: number; last_hour: string }[]>
  readonly addLatencies: (counts: readonly LatencyCount[]) => Promise<void>
  /** Deletes some of the spans before these; see delete-some.ts. */
  readonly forget: (firstKept: Readonly<Record<Span, string>>) => Promise<number>
}

const WITHIN = 'span = $1 AND at >= $2 AND ($3 IS NULL OR mode = $3)'

export function createStatisticsTable(database: Database): StatisticsTable {
  // PostgreSQL needs the type of a parameter that may be NULL.
  const within = database.dialect === 'postgres' ? WITHIN.replaceAll('$3', '$3::text') : WITHIN
  const select = (what: string, rest: string) =>
    database.prepare(`SELECT ${what} FROM statistics WHERE ${within} ${rest}`)
  const outcomes = select('at, outcome, SUM(count) AS count', 'GROUP BY at, outcome ORDER BY at')
  const byKey = select('key_id AS name, SUM(count) AS count', 'GROUP BY key_id ORDER BY 2 DESC, 1 LIMIT $4')
  const bySource = select('source AS name, SUM(count) AS count', 'GROUP BY source ORDER BY 2 DESC, 1')
  const lastErrors = select(
    'last_at, operation, outcome, key_id, last_reference, count',
    `AND outcome NOT IN ('verified', 'not_verified') ORDER BY last_at DESC LIMIT $4`,
  )
  const latencies = database.prepare(
    `SELECT class, SUM(count) AS count FROM latencies WHERE ${within} GROUP BY class ORDER BY class`,
  )
  const usage = database.prepare(
    `SELECT key_id, SUM(count) AS count, MAX(last_at) AS last FROM statistics
     WHERE span = 'day' AND at >= $1 GROUP BY key_id`,
  )
  const toArgs = ({ span, from, mode }: Period) => [span, from, mode] as const
  return {
    outcomes: async (period) =>
      (await outcomes.all(...toArgs(period))).map(({ at, outcome, count }) => ({
        at: String(at),
        outcome: String(outcome),
        count: Number(count),
      })),
    byKey: async (period, most) => (await byKey.all(...toArgs(period), most)).map(toNamed),
    bySource: async (period) => (await bySource.all(...toArgs(period))).map(toNamed),
    lastErrors: async (period, most) => (await lastErrors.all(...toArgs(period), most)).map(toLastError),
    latencies: async (period) =>
      (await latencies.all(...toArgs(period))).map((row) => ({
        class: Number(row.class),
        count: Number(row.count),
      })),
    usageByKey: async (sinceDay) =>
      (await usage.all(sinceDay)).map(({ key_id, count, last }) => ({
        key_id: String(key_id),
        verifications: Number(count),
        last_hour: toSpanName('hour', String(last)),
      })),
    addLatencies: (counts) => database.transaction((inside) => addLatencies(inside, counts)),
    forget: async (firstKept) => {
      let most = 0
      for (const table of ['statistics', 'latencies'])
        for (const span of SPANS)
          most = Math.max(
            most,
            await deleteSome(database, table, 'span = $1 AND at < $2', span, firstKept[span]),
          )
      return most
    },
  }
}

async function addLatencies(inside: Database, counts: readonly LatencyCount[]): Promise<void> {
  await inside
    .prepare(
      `INSERT INTO latencies (span, at, node, mode, class, count) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (span, at, node, mode, class) DO UPDATE SET count = latencies.count + excluded.count`,
    )
    .runAll(counts.map((each) => [each.span, each.at, each.node, each.mode, each.class, each.count]))
}

const toNamed = ({ name, count }: Row): NamedCount => ({ name: String(name), count: Number(count) })

const toLastError = (row: Row): LastError => ({
  at: String(row.last_at),
  operation: String(row.operation),
  outcome: String(row.outcome),
  key_id: String(row.key_id),
  reference: String(row.last_reference),
  count: Number(row.count),
})
