import type { Database, Value } from '../database/database.ts'
import type { Span } from '../ledger/tally.ts'

/** All spans of one length from a name until another, both included, of one mode or of all modes (null). */
export type StatisticsPeriod = {
  readonly span: Span
  readonly from: string
  readonly until?: string
  readonly mode: string | null
}

/** Later than the name of any span. */
const NO_END = '9999'
const WITHIN = 'span = $1 AND at >= $2 AND at <= $3 AND ($4 IS NULL OR mode = $4)'

/** The condition for the values of `toPeriodValues`. PostgreSQL needs the type of a parameter that may be NULL. */
export const toWithin = ({ dialect }: Pick<Database, 'dialect'>) =>
  dialect === 'postgres' ? WITHIN.replaceAll('$4', '$4::text') : WITHIN

export const toPeriodValues = ({ span, from, until = NO_END, mode }: StatisticsPeriod): Value[] => [
  span,
  from,
  until,
  mode,
]
