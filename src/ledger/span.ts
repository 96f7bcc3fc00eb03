import { toLagosDate } from '../contract/time.ts'

/** Minutes are kept for hours, hours for two months, days as long as TABBAT_STATISTICS_KEEP says: every query reads few rows. */
export type Span = 'minute' | 'hour' | 'day'

/** Length of the name of a span, a prefix of an ISO time: 2026-11-15T08:42, 2026-11-15T08, 2026-11-15. Days are in Lagos time. */
const NAME_LENGTH: Readonly<Record<Span, number>> = { minute: 16, hour: 13, day: 10 }
export const SPANS = Object.keys(NAME_LENGTH) as readonly Span[]
export const toSpanName = (span: Span, time: string) =>
  span === 'day' ? toDayOfHour(time.slice(0, NAME_LENGTH.hour)) : time.slice(0, NAME_LENGTH[span])

let lastHour = ''
let lastDay = ''

/** Every hour lies in one Lagos day. The last answer is kept, because most rows fall in the same hour as the row before. */
function toDayOfHour(hour: string): string {
  if (hour !== lastHour) {
    lastDay = toLagosDate(Date.parse(`${hour}:00Z`))
    lastHour = hour
  }
  return lastDay
}
