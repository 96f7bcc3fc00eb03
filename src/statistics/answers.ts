import { HOUR_MS, MINUTE_MS } from '../contract/time.ts'
import { ERRORS } from '../errors.ts'
import { SPANS, toSpanName } from '../ledger/tally.ts'
import { startFlushTimer } from './counters.ts'
import type { AnswerCount, AnswerStep, StatisticsTable } from './statistics-table.ts'
import type { Period } from './steps.ts'

/**
 * What callers got for verifications, also while nothing can be audited. Counted in memory and written every two seconds: a crash
 * loses what was not written.
 */
export type Answers = {
  readonly count: (mode: string, code: string) => void
  /** What this process has counted in the last minutes, and what is not known to be written. */
  readonly list: () => HeldCount[]
  /** Writes the counts. After a failure they are kept for the next flush. */
  readonly flush: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Of a whole span, by one process. `unwritten`: how much of it is not known to be in the store. */
export type HeldCount = AnswerCount & { readonly unwritten: number }

/** Longer than an overview that was read before an outage is shown. */
const RECENT_MS = 2 * MINUTE_MS

type Counted = AnswerCount & { count: number; written: number }

export function createAnswers(table: Pick<StatisticsTable, 'setAnswers'>, node: string): Answers {
  const counted = new Map<string, Counted>()
  /** The rows of the minute that runs, by mode, then by code: two look-ups cost less than one joined name. */
  let current = new Map<string, Map<string, readonly Counted[]>>()
  let minute = 0

  const openRows = (mode: string, code: string): readonly Counted[] => {
    const time = new Date(minute * MINUTE_MS).toISOString()
    return SPANS.map((span) => {
      const at = toSpanName(span, time)
      const name = `${span} ${at} ${mode} ${code}`
      const row = counted.get(name) ?? { span, at, node, mode, code, count: 0, written: 0 }
      counted.set(name, row)
      return row
    })
  }
  const openCurrent = (mode: string, code: string): readonly Counted[] => {
    const ofMode = current.get(mode) ?? new Map<string, readonly Counted[]>()
    const rows = openRows(mode, code)
    current.set(mode, ofMode.set(code, rows))
    return rows
  }
  const count = (mode: string, code: string) => {
    const now = Math.floor(Date.now() / MINUTE_MS)
    if (now !== minute) {
      minute = now
      current = new Map()
    }
    const rows = current.get(mode)?.get(code) ?? openCurrent(mode, code)
    for (const row of rows) row.count += 1
  }
  const write = async () => {
    const due = [...counted.values()]
      .filter((row) => row.count > row.written)
      .map((row) => [row, toCount(row, row.count)] as const)
    if (due.length === 0) return
    try {
      await table.setAnswers(due.map(([, written]) => written))
    } catch {
      // Store unavailable; reported elsewhere.
      return
    }
    for (const [row, written] of due) row.written = written.count
    deleteEnded(counted)
  }
  return {
    count,
    list: () => {
      const recent = new Date(Date.now() - RECENT_MS).toISOString()
      return [...counted.values()]
        .filter(({ span, at, count, written }) => count > written || at >= toSpanName(span, recent))
        .map((row) => ({ ...toCount(row, row.count), unwritten: row.count - row.written }))
    },
    ...startFlushTimer(write),
  }
}

const toCount = ({ span, at, node, mode, code }: Counted, count: number): AnswerCount => ({
  span,
  at,
  node,
  mode,
  code,
  count,
})

/** What has ended and is written. Kept for an hour more: if the clock is set back, the number so far must be known. */
function deleteEnded(counted: Map<string, Counted>): void {
  const time = new Date(Date.now() - HOUR_MS).toISOString()
  for (const [name, { span, at, count, written }] of counted)
    if (written === count && at < toSpanName(span, time)) counted.delete(name)
}

/** What a caller got. `limited` is 429, `refused` any other 4xx, `failed` 5xx. `broken_off`: the caller went away. */
const KINDS = ['verified', 'not_verified', 'pending', 'limited', 'refused', 'failed', 'broken_off'] as const
type AnswerKind = (typeof KINDS)[number]

const createTotals = () => Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<AnswerKind, number>
export type AnswerTotals = Readonly<ReturnType<typeof createTotals>>

function toKind(code: string): AnswerKind {
  if (code === 'verified' || code === 'not_verified' || code === 'pending') return code
  if (code === 'aborted') return 'broken_off'
  const status = toAnswerStatus(code)
  if (status === 429) return 'limited'
  return status !== undefined && status >= 500 ? 'failed' : 'refused'
}

/** The HTTP status of an error code. */
export const toAnswerStatus = (code: string): number | undefined =>
  (ERRORS as Readonly<Record<string, { readonly status: number }>>)[code]?.status

export function addUpAnswers(counts: readonly Pick<AnswerStep, 'code' | 'count'>[]): AnswerTotals {
  const totals = createTotals()
  for (const { code, count } of counts) totals[toKind(code)] += count
  return totals
}

/** For each span of the period. */
export function toAnswerSteps({ names }: Period, counts: readonly AnswerStep[]): AnswerTotals[] {
  const byName = Map.groupBy(counts, ({ at }) => at)
  return names.map((name) => addUpAnswers(byName.get(name) ?? []))
}

export const isAnswer = (code: string): boolean =>
  ['verified', 'not_verified', 'pending'].includes(toKind(code))
