import type { Value } from '../database/database.ts'
import {
  type Column,
  defineColumns,
  defineTable,
  named,
  number,
  type Reader,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'
import { packValues, toUnpack } from '../ledger/queue-rows.ts'
import { SPANS, type Span, toSpanName } from '../ledger/tally.ts'
import { duration, type Setting, setting } from '../settings/setting.ts'

/** All spans of one length from a name until another, both included, of one mode or of all modes (null). */
type Period = {
  readonly span: Span
  readonly from: string
  readonly until?: string
  readonly mode: string | null
}

const OUTCOME = defineColumns({ at: text(), outcome: text(), count: number() })
export type OutcomeCount = RowOf<typeof OUTCOME>

const NAMED = defineColumns({ name: text(), count: number() })

/** `failed`: verifications without an answer. */
const KEY_COUNT = defineColumns({ name: text(), count: number(), failed: number() })
export type KeyCount = RowOf<typeof KEY_COUNT>

const KEY_STEP = defineColumns({ key: named('key_id', text()), at: text(), count: number() })
export type KeyStep = RowOf<typeof KEY_STEP>

const LAST_ERROR = defineColumns({
  at: named('last_at', text()),
  operation: text(),
  outcome: text(),
  key_id: text(),
  reference: named('last_reference', text()),
  count: number(),
})

const lastHour: Column<string> = { ...text(), decode: (stored) => toSpanName('hour', String(stored)) }
const USAGE = defineColumns({ key_id: text(), verifications: number(), last_hour: lastHour })

const KEY_MONTH = defineColumns({
  month: text(),
  key_id: text(),
  mode: text(),
  outcome: text(),
  count: number(),
})
export type KeyMonth = RowOf<typeof KEY_MONTH>

const LATENCY = defineColumns({
  span: text<Span>(),
  at: text(),
  node: text(),
  mode: text(),
  class: number(),
  count: number(),
})
export type LatencyCount = RowOf<typeof LATENCY>

/** The histogram of one span. */
const LATENCY_STEP = defineColumns({ at: text(), class: number(), count: number() })
export type LatencyStep = RowOf<typeof LATENCY_STEP>

const LATENCY_CLASS = defineColumns({ class: number(), count: number() })

/** How many verifications of one span were answered with one code, as one process has counted them so far. */
const ANSWER = defineColumns({
  span: text<Span>(),
  at: text(),
  node: text(),
  mode: text(),
  code: text(),
  count: number(),
})
export type AnswerCount = RowOf<typeof ANSWER>

/** Over all processes. */
const ANSWER_STEP = defineColumns({ at: text(), code: text(), count: number() })
export type AnswerStep = RowOf<typeof ANSWER_STEP>

const FAILED = `CASE WHEN outcome IN ('verified', 'not_verified') THEN 0 ELSE count END`
export const MAX_KEY_STEPS = 5
const KEYS = Array.from({ length: MAX_KEY_STEPS }, (_key, index) => `$${index + 5}`).join(', ')

/** Counts of verifications and of answers, and histograms of response times, by span. */
export const statisticsTable = defineTable({
  reads: (database) => ({
    ...createStatisticsReads(database),
    ...createLatencyReads(database),
    ...createAnswerReads(database),
  }),
  writes: (database) => ({
    /** In one statement. No two of the same span, mode and class. */
    addLatencies: async (counts: readonly LatencyCount[]) => {
      const { rows, text, number } = toUnpack(database)
      await database
        .prepare(
          `INSERT INTO latencies (${LATENCY.names})
           SELECT ${[0, 1, 2, 3].map(text).join(', ')}, ${[4, 5].map(number).join(', ')} FROM ${rows('$1')} WHERE TRUE
           ON CONFLICT (span, at, node, mode, class) DO UPDATE SET count = latencies.count + excluded.count`,
        )
        .run(packValues(counts.map(LATENCY.encode)))
    },
    /** In one statement. Replaces what the process has written before. */
    setAnswers: async (counts: readonly AnswerCount[]) => {
      const { rows, text, number } = toUnpack(database)
      await database
        .prepare(
          `INSERT INTO answers (${ANSWER.names})
           SELECT ${[0, 1, 2, 3, 4].map(text).join(', ')}, ${number(5)} FROM ${rows('$1')} WHERE TRUE
           ON CONFLICT (span, at, node, mode, code) DO UPDATE SET count = excluded.count`,
        )
        .run(packValues(counts.map(ANSWER.encode)))
    },
    /** Deletes some of the spans before these; see delete-some.ts. */
    deleteExpired: async (firstKept: Readonly<Record<Span, string>>) => {
      let most = 0
      for (const table of ['statistics', 'latencies', 'answers'])
        for (const span of SPANS)
          most = Math.max(
            most,
            await deleteSome(database, table, 'span = $1 AND at < $2', span, firstKept[span]),
          )
      return most
    },
  }),
})
export type StatisticsTable = TableOf<typeof statisticsTable>

function createStatisticsReads(database: Reader) {
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
    LAST_ERROR.names,
    `AND outcome NOT IN ('verified', 'not_verified') ORDER BY last_at DESC LIMIT $5`,
  )
  const usage = database.prepare(
    `SELECT key_id, SUM(count) AS verifications, MAX(last_at) AS last_hour FROM statistics
     WHERE span = 'day' AND at >= $1 GROUP BY key_id`,
  )
  const months = database.prepare(
    `SELECT substr(at, 1, 7) AS month, key_id, mode, outcome, SUM(count) AS count FROM statistics
     WHERE span = 'day' AND at >= $1 AND at <= $2 GROUP BY 1, 2, 3, 4`,
  )
  return {
    outcomes: async (period: Period) => (await outcomes.all(...toPeriodValues(period))).map(OUTCOME.decode),
    byKey: async (period: Period, most: number) =>
      (await byKey.all(...toPeriodValues(period), most)).map(KEY_COUNT.decode),
    /** Verifications of these keys in each span; at most MAX_KEY_STEPS keys. */
    keySteps: async (period: Period, keys: readonly string[]) => {
      const names = Array.from({ length: MAX_KEY_STEPS }, (_key, index) => keys[index] ?? null)
      return (await keySteps.all(...toPeriodValues(period), ...names)).map(KEY_STEP.decode)
    },
    bySource: async (period: Period) => (await bySource.all(...toPeriodValues(period))).map(NAMED.decode),
    /** Equal failures of one key in one span are one row, with their count. */
    lastErrors: async (period: Period, most: number) =>
      (await lastErrors.all(...toPeriodValues(period), most)).map(LAST_ERROR.decode),
    /** Verifications of each key since a day, and the hour of the last. */
    usageByKey: async (sinceDay: string) => (await usage.all(sinceDay)).map(USAGE.decode),
    /** Verifications of each key in each month (2026-11) from one to another, by outcome. */
    monthsByKey: async (from: string, to: string) =>
      (await months.all(`${from}-01`, `${to}-31`)).map(KEY_MONTH.decode),
  }
}

function createLatencyReads(database: Reader) {
  const within = toWithin(database)
  const latencies = database.prepare(
    `SELECT class, SUM(count) AS count FROM latencies WHERE ${within} GROUP BY class ORDER BY class`,
  )
  const steps = database.prepare(
    `SELECT at, class, SUM(count) AS count FROM latencies WHERE ${within} GROUP BY at, class ORDER BY at, class`,
  )
  return {
    latencies: async (period: Period) =>
      (await latencies.all(...toPeriodValues(period))).map(LATENCY_CLASS.decode),
    latencySteps: async (period: Period) =>
      (await steps.all(...toPeriodValues(period))).map(LATENCY_STEP.decode),
  }
}

function createAnswerReads(database: Reader) {
  const answers = database.prepare(
    `SELECT at, code, SUM(count) AS count FROM answers WHERE ${toWithin(database)} GROUP BY at, code ORDER BY at`,
  )
  return {
    /** What callers got in each span. */
    answers: async (period: Period) => (await answers.all(...toPeriodValues(period))).map(ANSWER_STEP.decode),
  }
}

/** Later than the name of any span. */
const NO_END = '9999'
const WITHIN = 'span = $1 AND at >= $2 AND at <= $3 AND ($4 IS NULL OR mode = $4)'

/** The condition for the values of `toPeriodValues`. PostgreSQL needs the type of a parameter that may be NULL. */
const toWithin = ({ dialect }: Reader) =>
  dialect === 'postgres' ? WITHIN.replaceAll('$4', '$4::text') : WITHIN

const toPeriodValues = ({ span, from, until = NO_END, mode }: Period): Value[] => [span, from, until, mode]

/** The daily statistics. */
export const STATISTICS_SETTINGS = {
  statisticsKeep: setting(
    'TABBAT_STATISTICS_KEEP',
    '800d',
    duration({ least: '62d', most: '36500d' }),
    'How long daily statistics are kept, for the overview and the usage of keys. The audit log is not affected.',
  ),
} satisfies Record<string, Setting<unknown>>
