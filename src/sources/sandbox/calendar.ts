import type { Seed } from './seed.ts'

/** A calendar date, kept as midnight UTC so that no time zone can move it. */
export const toDate = (year: number, month: number, day: number) => new Date(Date.UTC(year, month - 1, day))

const DAY_MS = 86_400_000

/** A day from the first to the last, both included. Counting in days makes only dates that exist. */
export const pickDate = (seed: Seed, first: Date, last: Date) =>
  new Date(first.getTime() + seed.between(0, (last.getTime() - first.getTime()) / DAY_MS) * DAY_MS)

export const addYears = (date: Date, years: number) =>
  toDate(date.getUTCFullYear() + years, date.getUTCMonth() + 1, date.getUTCDate())

export const addDays = (date: Date, days: number) => new Date(date.getTime() + days * DAY_MS)

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

const monthName = (date: Date) => MONTHS[date.getUTCMonth()] ?? ''
const shortMonthName = (date: Date) => monthName(date).slice(0, 3)
const twoDigits = (value: number) => String(value).padStart(2, '0')
const dayOfMonth = (date: Date) => twoDigits(date.getUTCDate())

/** 05-01-1990 */
export const toNumericDate = (date: Date) =>
  `${dayOfMonth(date)}-${twoDigits(date.getUTCMonth() + 1)}-${date.getUTCFullYear()}`

/** 05-Jan-1990 */
export const toHyphenatedDate = (date: Date) =>
  `${dayOfMonth(date)}-${shortMonthName(date)}-${date.getUTCFullYear()}`

/** Jan 5, 1990 */
export const toShortDate = (date: Date) =>
  `${shortMonthName(date)} ${date.getUTCDate()}, ${date.getUTCFullYear()}`

/** January 5, 1990 */
export const toLongDate = (date: Date) => `${monthName(date)} ${date.getUTCDate()}, ${date.getUTCFullYear()}`
