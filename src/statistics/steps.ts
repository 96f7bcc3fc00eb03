import { DAY_MS, HOUR_MS, MINUTE_MS, readLagosTime } from '../contract/time.ts'
import { type Span, toSpanName } from '../ledger/tally.ts'
import type { OutcomeCount } from './statistics-table.ts'

export const RANGES = ['hour', 'day', 'week', 'month'] as const
export type Range = (typeof RANGES)[number]

const STEP_MS: Readonly<Record<Span, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }

/** At most a few hundred steps. */
const PLANS: Readonly<Record<Range, { readonly span: Span; readonly steps: number }>> = {
  hour: { span: 'minute', steps: 60 },
  day: { span: 'hour', steps: 24 },
  week: { span: 'hour', steps: 7 * 24 },
  month: { span: 'day', steps: 30 },
}

const KEEP_MINUTES_MS = 3 * HOUR_MS
const KEEP_HOURS_MS = 62 * DAY_MS

/** The first minute, hour and day to keep. Minutes and hours: a little more than any range and the one before it need. */
export const toFirstKept = (now: number, keepDaysMs: number): Readonly<Record<Span, string>> => ({
  minute: toSpanName('minute', toIso(now - KEEP_MINUTES_MS)),
  hour: toSpanName('hour', toIso(now - KEEP_HOURS_MS)),
  day: toSpanName('day', toIso(now - keepDaysMs)),
})

/** Consecutive spans of one length, oldest first; at least one. */
export type Period = { readonly span: Span; readonly names: readonly string[] }

/** The longest period that one request may ask for, in steps. */
export const MAX_STEPS = 400

export function toPeriod(range: Range, now: number): Period {
  const { span, steps } = PLANS[range]
  return toStepsUntil(span, now, steps)
}

/** The finest steps that are kept so long and are not too many; undefined when days are too many. */
export function toCustomPeriod(from: number, to: number, now: number): Period | undefined {
  const end = Math.max(Math.min(to - 1, now), from)
  const isKept = (keptMs: number) => from > now - keptMs
  const span = isKept(KEEP_MINUTES_MS)
    ? 'minute'
    : isKept(KEEP_HOURS_MS) && end - from <= 8 * DAY_MS
      ? 'hour'
      : 'day'
  const first = Date.parse(toTime(span, toSpanName(span, toIso(from))))
  const steps = Math.floor((end - first) / STEP_MS[span]) + 1
  return steps > MAX_STEPS ? undefined : toStepsUntil(span, end, steps)
}

/** As many steps, directly before. Undefined when they are no longer kept. */
export function toPeriodBefore(
  { span, names }: Period,
  firstKept: Readonly<Record<Span, string>>,
): Period | undefined {
  const before = toStepsUntil(span, Date.parse(toTime(span, names[0] ?? '')) - 1, names.length)
  return (before.names[0] ?? '') < firstKept[span] ? undefined : before
}

const toStepsUntil = (span: Span, end: number, steps: number): Period => ({
  span,
  names: Array.from({ length: steps }, (_step, index) =>
    toSpanName(span, toIso(end - (steps - 1 - index) * STEP_MS[span])),
  ),
})

export const toStepSeconds = ({ span }: Pick<Period, 'span'>) => STEP_MS[span] / 1000
/** The start of the first step and the end of the last. */
export const toBounds = ({ span, names }: Period) => ({
  from: toTime(span, names[0] ?? ''),
  to: toIso(Date.parse(toTime(span, names.at(-1) ?? '')) + STEP_MS[span]),
})

export type Step = {
  readonly at: string
  verified: number
  not_verified: number
  failed: number
}

/** A step for each span of the period, including empty ones. */
export function toSteps({ span, names }: Period, counts: readonly OutcomeCount[]): Step[] {
  const byName = new Map<string, Step>(
    names.map((name) => [name, { at: toTime(span, name), verified: 0, not_verified: 0, failed: 0 }]),
  )
  for (const { at, outcome, count } of counts) {
    const step = byName.get(at)
    if (step) step[toColumn(outcome)] += count
  }
  return [...byName.values()]
}

const toColumn = (outcome: string) =>
  outcome === 'verified' || outcome === 'not_verified' ? outcome : 'failed'

const toIso = (time: number) => new Date(time).toISOString()

/** The start of a span as a full time; a day starts at midnight in Lagos. */
const toTime = (span: Span, name: string) =>
  span === 'day'
    ? toIso(readLagosTime(`${name}T00:00:00`))
    : `${name}${'0000-00-00T00:00:00.000Z'.slice(name.length)}`
