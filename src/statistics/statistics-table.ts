import type { Database, Row } from '../database/database.ts'
import { deleteSome } from '../database/delete-some.ts'
import { SPANS, type Span, toSpanName } from '../ledger/tally.ts'
import { createKeyMonthQueries, type KeyMonthQueries } from './key-months.ts'
import { createLatencyQueries, type LatencyQueries } from './latency-queries.ts'
import { type StatisticsPeriod as Period, toPeriodValues, toWithin } from './statistics-period.ts'

export type OutcomeCount = { readonly at: string; readonly outcome: string; readonly count: number }
type NamedCount = { readonly name: string; readonly count: number }
/** `failed`: verifications without an answer. */
export type KeyCount = NamedCount & { readonly failed: number }
export type KeyStep = { readonly key: string; readonly at: string; readonly count: number }
type LastError = {
  readonly at: string
  readonly operation: string
  readonly outcome: string
  readonly key_id: string
  readonly reference: string
  readonly count: number
}

export type StatisticsTable = LatencyQueries &
  KeyMonthQueries & {
    readonly outcomes: (period: Period) => Promise<OutcomeCount[]>
    readonly byKey: (period: Period, most: number) => Promise<KeyCount[]>
    /** Verifications of these keys in each span; at most MAX_KEY_STEPS keys. */
    readonly keySteps: (period: Period, keys: readonly string[]) => Promise<KeyStep[]>
    readonly bySource: (period: Period) => Promise<NamedCount[]>
    /** Equal failures of one key in one span are one row, with their count. */
    readonly lastErrors: (period: Period, most: number) => Promise<LastError[]>
    /** Verifications of each key since a day, and the hour of the last. */
    readonly usageByKey: (
      sinceDay: string,
    ) => Promise<{ key_id: string; verifications: number; last_hour: string }[]>
    /** Deletes some of the spans before these; see delete-some.ts. */
    readonly deleteExpired: (firstKept: Readonly<Record<Span, string>>) => Promise<number>
  }

const FAILED = `CASE WHEN outcome IN ('verified', 'not_verified') THEN 0 ELSE count END`
export const MAX_KEY_STEPS = 5
const KEYS = Array.from({ length: MAX_KEY_STEPS }, (_key, index) => `$${index + 5}`).join(', ')

export function createStatisticsTable(database: Database): StatisticsTable {
  const within = toWithin(database)
  const select = (what: string, rest: string) =>
    database.prepare(`SELECT ${what} FROM statistics WHERE ${within} ${rest}`)
  const outcomes = select('at, outcome, SUM(count) AS count', 'GROUP BY at, outcome ORDER BY at')
  const byKey = select(
    `key_id AS name, SUM(count) AS count, SUM(${FAILED}) AS failed`,
    'GROUP BY key_id ORDER BY 2 DESC, 1 LIMIT $5',
  )
  const keySteps = select(
    'key_id, at, SUM(count) AS count',
    `AND key_id IN (${KEYS}) GROUP BY key_id, at ORDER BY at`,
  )
  const bySource = select('source AS name, SUM(count) AS count', 'GROUP BY source ORDER BY 2 DESC, 1')
  const lastErrors = select(
    'last_at, operation, outcome, key_id, last_reference, count',
    `AND outcome NOT IN ('verified', 'not_verified') ORDER BY last_at DESC LIMIT $5`,
  )
  const usage = database.prepare(
    `SELECT key_id, SUM(count) AS count, MAX(last_at) AS last FROM statistics
     WHERE span = 'day' AND at >= $1 GROUP BY key_id`,
  )
  return {
    ...createLatencyQueries(database),
    ...createKeyMonthQueries(database),
    outcomes: async (period) =>
      (await outcomes.all(...toPeriodValues(period))).map(({ at, outcome, count }) => ({
        at: String(at),
        outcome: String(outcome),
        count: Number(count),
      })),
    byKey: async (period, most) =>
      (await byKey.all(...toPeriodValues(period), most)).map((row) => ({
        ...toNamed(row),
        failed: Number(row.failed),
      })),
    keySteps: async (period, keys) => {
      const names = Array.from({ length: MAX_KEY_STEPS }, (_key, index) => keys[index] ?? null)
      const rows = await keySteps.all(...toPeriodValues(period), ...names)
      return rows.map(({ key_id, at, count }) => ({
        key: String(key_id),
        at: String(at),
        count: Number(count),
      }))
    },
    bySource: async (period) => (await bySource.all(...toPeriodValues(period))).map(toNamed),
    lastErrors: async (period, most) =>
      (await lastErrors.all(...toPeriodValues(period), most)).map(toLastError),
    usageByKey: async (sinceDay) =>
      (await usage.all(sinceDay)).map(({ key_id, count, last }) => ({
        key_id: String(key_id),
        verifications: Number(count),
        last_hour: toSpanName('hour', String(last)),
      })),
    deleteExpired: async (firstKept) => {
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

const toNamed = ({ name, count }: Row): NamedCount => ({ name: String(name), count: Number(count) })

const toLastError = (row: Row): LastError => ({
  at: String(row.last_at),
  operation: String(row.operation),
  outcome: String(row.outcome),
  key_id: String(row.key_id),
  reference: String(row.last_reference),
  count: Number(row.count),
})
