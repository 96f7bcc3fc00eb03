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
