import { DAY_MS, HOUR_MS, MINUTE_MS, readLagosTime } from '../contract/time.ts'
import { type Span, toSpanName } from '../store/span.ts'
import type { OutcomeCount } from '../store/statistics-table.ts'

export const RANGES = ['hour', 'day', 'week', 'month'] as const
export type Range = (typeof RANGES)[number]

type Plan = { readonly span: Span; readonly stepMs: number; readonly steps: number }

/** At most a few hundred steps. */
const PLANS: Readonly<Record<Range, Plan>> = {
  hour: { span: 'minute', stepMs: MINUTE_MS, steps: 60 },
  day: { span: 'hour', stepMs: HOUR_MS, steps: 24 },
  week: { span: 'hour', stepMs: HOUR_MS, steps: 7 * 24 },
  month: { span: 'day', stepMs: DAY_MS, steps: 30 },
}

/** The first minute, hour and day to keep. Minutes and hours: a little more than any range needs. */
export const toFirstKept = (now: number, keepDaysMs: number): Readonly<Record<Span, string>> => ({
  minute: toSpanName('minute', new Date(now - 3 * HOUR_MS).toISOString()),
  hour: toSpanName('hour', new Date(now - 62 * DAY_MS).toISOString()),
  day: toSpanName('day', new Date(now - keepDaysMs).toISOString()),
})

export type Step = {
  readonly at: string
  verified: number
  not_verified: number
  failed: number
}

type StepPeriod = { readonly span: Span; readonly from: string; readonly stepSeconds: number }

export function toPeriod(range: Range, now: number): StepPeriod {
  const { span, stepMs, steps } = PLANS[range]
  const from = toSpanName(span, new Date(now - (steps - 1) * stepMs).toISOString())
  return { span, from, stepSeconds: stepMs / 1000 }
}

/** A step for each span of the range, including empty ones. */
export function toSteps(range: Range, now: number, counts: readonly OutcomeCount[]): Step[] {
  const { span, stepMs, steps } = PLANS[range]
  const byName = new Map<string, Step>()
  for (let back = steps - 1; back >= 0; back--) {
    const name = toSpanName(span, new Date(now - back * stepMs).toISOString())
    byName.set(name, { at: toTime(span, name), verified: 0, not_verified: 0, failed: 0 })
  }
  for (const { at, outcome, count } of counts) {
    const step = byName.get(at)
    if (step) step[toColumn(outcome)] += count
  }
  return [...byName.values()]
}

const toColumn = (outcome: string) =>
  outcome === 'verified' || outcome === 'not_verified' ? outcome : 'failed'

/** The start of a span as a full time; a day starts at midnight in Lagos. */
const toTime = (span: Span, name: string) =>
  span === 'day'
    ? new Date(readLagosTime(`${name}T00:00:00`)).toISOString()
    : `${name}${'0000-00-00T00:00:00.000Z'.slice(name.length)}`
