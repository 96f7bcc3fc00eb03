export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Lagos is one hour ahead of UTC all year. */
const LAGOS_MS = HOUR_MS

/**
 * Wall time that is never behind the wall time at which this process started plus the time it has run. Compare it with stored
 * expiry times: a clock that is set back while the process runs revives nothing that has expired.
 */
export const steadyNow = (): number =>
  Math.max(Date.now(), Math.floor(performance.timeOrigin + performance.now()))

let isoMs = Number.NaN
let isoText = ''

/** The time in ISO form. The last one is kept: many requests fall into one millisecond. */
export function toIsoTime(at: number): string {
  if (at !== isoMs) {
    isoText = new Date(at).toISOString()
    isoMs = at
  }
  return isoText
}

/** The day in Lagos, counted from 1970-01-01. Quotas and spend caps are per Lagos day. */
export const toLagosDay = (at: number): number => Math.floor((at + LAGOS_MS) / DAY_MS)

/** Whole seconds until the next midnight in Lagos, 1 to 86 400. */
export const secondsToLagosMidnight = (at: number): number =>
  Math.ceil(((toLagosDay(at) + 1) * DAY_MS - LAGOS_MS - at) / 1000)

/** The date in Lagos: 2026-11-15. */
export const toLagosDate = (at: number): string => new Date(at + LAGOS_MS).toISOString().slice(0, 10)

/** The time in Lagos, for people: 5 Mar 2026, 14:03:22. */
export function toLagosMoment(at: number): string {
  const [date = '', time = ''] = new Date(at + LAGOS_MS).toISOString().split('T')
  const [year, month, day] = date.split('-')
  return `${Number(day)} ${toName(Number(month)).slice(0, 3)} ${year}, ${time.slice(0, 8)}`
}

/** Reads an ISO date and time without a zone as Lagos time; NaN when it is not one. */
export const readLagosTime = (text: string): number => Date.parse(`${text}Z`) - LAGOS_MS

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
  w: 7 * DAY_MS,
  y: 365 * DAY_MS,
}

/** Reads 30s, 15m, 12h, 90d, 2w or 1y as milliseconds; undefined for any other text. A year has 365 days. */
export function readDuration(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhdwy])$/.exec(text) ?? []
  const unitMs = UNIT_MS[unit]
  return unitMs && Number(count) * unitMs
}

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
