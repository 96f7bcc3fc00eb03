import { type Day, toHyphenatedDay, toLongDay, toNumericDay, toShortDay } from '../../contract/date.ts'
import { DAY_MS } from '../../contract/time.ts'
import type { Seed } from './seed.ts'

/** A calendar date, kept as midnight UTC so that no time zone can move it. */
export const toDate = (year: number, month: number, day: number) => new Date(Date.UTC(year, month - 1, day))

/** A day from the first to the last, both included. Counting in days makes only dates that exist. */
export const pickDate = (seed: Seed, first: Date, last: Date) =>
  new Date(first.getTime() + seed.between(0, (last.getTime() - first.getTime()) / DAY_MS) * DAY_MS)

export const addYears = (date: Date, years: number) =>
  toDate(date.getUTCFullYear() + years, date.getUTCMonth() + 1, date.getUTCDate())

export const addDays = (date: Date, days: number) => new Date(date.getTime() + days * DAY_MS)

const toDay = (date: Date): Day => ({
  year: date.getUTCFullYear(),
  month: date.getUTCMonth() + 1,
  day: date.getUTCDate(),
})

/** 05-01-1990 */
export const toNumericDate = (date: Date) => toNumericDay(toDay(date))

/** 05-Jan-1990 */
export const toHyphenatedDate = (date: Date) => toHyphenatedDay(toDay(date))

/** Jan 5, 1990 */
export const toShortDate = (date: Date) => toShortDay(toDay(date))

/** January 5, 1990 */
export const toLongDate = (date: Date) => toLongDay(toDay(date))
