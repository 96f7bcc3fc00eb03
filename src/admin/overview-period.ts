import { AppError } from '../errors.ts'
import { MOST_STEPS, type Period, type Range, toCustomPeriod, toPeriod } from '../statistics/steps.ts'
import type { Overview } from './shapes/overview.ts'

/** A named range, or a range of one's own when `from` is given. */
export type OverviewQuery = {
  readonly range: Range
  readonly mode: Overview['mode']
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Without `to`, a range of one's own ends now. */
export function readPeriod({ range, from, to }: OverviewQuery, now: number): Period {
  if (from === undefined) {
    if (to !== undefined) throw toProblem('from', 'is required with to')
    return toPeriod(range, now)
  }
  const [start, end] = [Date.parse(from), to === undefined ? now : Date.parse(to)]
  if (end <= start)
    throw toProblem(
      to === undefined ? 'from' : 'to',
      `must be ${to === undefined ? 'in the past' : 'later than from'}`,
    )
  const period = toCustomPeriod(start, end, now)
  if (!period) throw toProblem('from', `must be at most ${MOST_STEPS} days before the end`)
  return period
}

const toProblem = (field: string, rule: string) =>
  new AppError('validation_failed', { errors: { [field]: [`${field} ${rule}`] } })

export const toStretch = ({ span, names }: Period, mode: Overview['mode']) => ({
  span,
  from: names[0] ?? '',
  until: names.at(-1) ?? '',
  mode: mode === 'all' ? null : mode,
})
