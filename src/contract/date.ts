import { DAY_MS, MINUTE_MS, toLagosDate } from './time.ts'

/** A calendar day, without a time zone. */
export type Day = { readonly year: number; readonly month: number; readonly day: number }

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

/** jan, january → 1, and so on. */
const MONTH_NUMBERS = new Map<string, number>([
  ...MONTHS.flatMap((name, index): [string, number][] => [
    [name.toLowerCase(), index + 1],
    [name.slice(0, 3).toLowerCase(), index + 1],
  ]),
  ['sept', 9],
])

const OLDEST_YEAR = 1900

/** A pattern, and which of its groups are the year, the month and the day. */
type Spelling = readonly [pattern: RegExp, year: number, month: number, day: number]

const SPELLINGS: readonly Spelling[] = [
  // 05-01-1990, 5/1/1990, 5.1.90: the day comes first.
  [/^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})$/, 4, 3, 1],
  // 1990-01-05, 1990/01/05, 1990-01-05T00:00:00, 1990-01-05 00:00:00.000
  [/^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T ][\d:.]*)?$/, 1, 3, 4],
  // 05-Jan-1990, 05-JAN-90, 5 January 1990, 5th January, 1990
  [/^(\d{1,2})(?:st|nd|rd|th)?[-/ ]([a-z]{3,9})\.?(?:[-/ ]|, )(\d{4}|\d{2})$/i, 3, 2, 1],
  // January 5, 1990, Jan 5 1990
  [/^([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?: |, ?)(\d{4})$/i, 3, 1, 2],
]

/** Reads a day in any of the common spellings; undefined when it does not exist or lies in the future. */
export function readDay(text: string, now = new Date()): Day | undefined {
  const lagosDate = readTimestamp(text)
  if (lagosDate !== undefined) return readDay(lagosDate, now)
  for (const [pattern, year, month, day] of SPELLINGS) {
    const found = pattern.exec(text)
    if (!found) continue
    const read = {
      year: toYear(found[year] ?? '', now),
      month: toMonth(found[month] ?? ''),
      day: Number(found[day]),
    }
    return isPastDay(read, now) ? read : undefined
  }
  return undefined
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d(?:\.\d{1,9})?)? ?(?:Z|([+-])(\d\d):?(\d\d)?)$/i

/** The date in Lagos of a time with a zone: a vendor that stores midnight in Lagos sends 23:00 of the day before, in UTC. */
function readTimestamp(text: string): string | undefined {
  const [, day, time, sign, hours = '0', minutes = '0'] = TIMESTAMP.exec(text) ?? []
  if (day === undefined) return undefined
  const at = Date.parse(`${day}T${time}:00Z`)
  if (Number.isNaN(at)) return undefined
  const offset = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS
  return toLagosDate(sign === '-' ? at + offset : at - offset)
}

export const isSameDay = (one: Day, other: Day) =>
  one.year === other.year && one.month === other.month && one.day === other.day

/** 1990-01-05 */
export const toIsoDay = ({ year, month, day }: Day) => `${year}-${twoDigits(month)}-${twoDigits(day)}`

/** 05-01-1990 */
export const toNumericDay = ({ year, month, day }: Day) => `${twoDigits(day)}-${twoDigits(month)}-${year}`

/** 05-Jan-1990 */
export const toHyphenatedDay = ({ year, month, day }: Day) =>
  `${twoDigits(day)}-${toName(month).slice(0, 3)}-${year}`

/** Jan 5, 1990 */
export const toShortDay = ({ year, month, day }: Day) => `${toName(month).slice(0, 3)} ${day}, ${year}`

/** January 5, 1990 */
export const toLongDay = ({ year, month, day }: Day) => `${toName(month)} ${day}, ${year}`

const twoDigits = (value: number) => (value < 10 ? `0${value}` : String(value))
const toName = (month: number) => MONTHS[month - 1] ?? ''

const toMonth = (text: string) => MONTH_NUMBERS.get(text.toLowerCase()) ?? Number(text)

/** A two-digit year after the current one belongs to the last century. */
function toYear(text: string, now: Date): number {
  const year = Number(text)
  if (text.length === 4) return year
  return year > now.getUTCFullYear() % 100 ? 1900 + year : 2000 + year
}

/** Whether the day exists and is not in the future. One day more is allowed: another time zone may be ahead. */
function isPastDay({ year, month, day }: Day, now: Date): boolean {
  const date = new Date(Date.UTC(year, month - 1, day))
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return exists && year >= OLDEST_YEAR && date.getTime() < now.getTime() + DAY_MS
}
