import { toNaira } from '../../src/contract/naira.ts'

export { toNaira }

const minute = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const
const moment = new Intl.DateTimeFormat('en-GB', minute)
const momentOfAnotherYear = new Intl.DateTimeFormat('en-GB', { ...minute, year: 'numeric' })
const second = new Intl.DateTimeFormat('en-GB', { ...minute, second: '2-digit' })
const exact = new Intl.DateTimeFormat('en-GB', {
  ...minute,
  year: 'numeric',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'short',
})
const hourAndMinute = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en-GB', { notation: 'compact' })
// Rounded down, so that one failure in a million is not 100 %.
const percent = new Intl.NumberFormat('en-GB', {
  style: 'percent',
  maximumFractionDigits: 2,
  roundingMode: 'floor',
} as Intl.NumberFormatOptions)

const share = new Intl.NumberFormat('en-GB', {
  style: 'percent',
  maximumFractionDigits: 0,
  roundingMode: 'ceil',
} as Intl.NumberFormatOptions)

/** The time zone of the browser, in which all times are shown. */
export const toZone = (): string => {
  const { timeZone } = clock.resolvedOptions()
  const offset = exact.formatToParts().find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return timeZone === offset ? timeZone : `${timeZone.replaceAll('_', ' ')} (${offset})`
}

export function toMoment(at: string): string {
  const date = new Date(at)
  return (date.getFullYear() === new Date().getFullYear() ? moment : momentOfAnotherYear).format(date)
}
/** The hour of a time that is only known to the hour. */
export const toHourSpan = (at: string) =>
  `${toMoment(at)}–${hourAndMinute.format(Date.parse(at) + 3_540_000)}`
export const toSecond = (at: string) => second.format(new Date(at))
/** To the millisecond, with year and time zone. */
export const toExactMoment = (at: string) => exact.format(new Date(at))
export const toClock = (at: string) => clock.format(new Date(at))
/** From 2026-11-15. */
export const toDay = (text: string) => (Number.isNaN(Date.parse(text)) ? text : day.format(new Date(text)))
export const toShortCount = (count: number) => short.format(count)
export const toCount = (count: number) => whole.format(count)
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const
const threeDigits = new Intl.NumberFormat('en-GB', { maximumSignificantDigits: 3 })
/** With three digits: 1.23 GB. */
export function toBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(Math.abs(bytes), 1)) / 3), UNITS.length - 1)
  return `${threeDigits.format(bytes / 1000 ** power)} ${UNITS[power]}`
}
export const toPercent = (part: number | null) => (part === null ? '–' : percent.format(part))
/** For error rates: rounded up, so that a few errors are not 0 %. */
export const toShare = (part: number | null) => (part === null ? '–' : share.format(part))
export const toPrice = (price: string) =>
  price !== '' && Number.isFinite(Number(price)) ? toNaira(Number(price) * 100) : price

/** `+12`, `−0.5` */
export const toSigned = (value: number, digits: number) =>
  new Intl.NumberFormat('en-GB', { maximumFractionDigits: digits, signDisplay: 'exceptZero' }).format(value)

export function toMs(ms: number | null): string {
  if (ms === null) return '–'
  return ms < 1000 ? `${whole.format(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

/** `not_verified` becomes `not verified`. */
export const toWords = (code: string) => code.replaceAll('_', ' ')

/** `first_name` becomes `First name`. */
export function toLabel(name: string): string {
  const words = toWords(name).replace(/\b(nin|bvn|lga|url|sme|tv)\b/g, (short) => short.toUpperCase())
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Begins with a capital letter and ends with a full stop. */
export const toSentence = (text: string) =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

/** The title of an operation. */
const OPERATIONS: Readonly<Record<string, string>> = {
  verify_nin: 'Verify NIN',
  verify_bvn: 'Verify BVN',
  list_internet_bundles: 'Internet bundles',
  list_sme_bundles: 'SME bundles',
  list_tv_add_ons: 'TV add-ons',
}

/** Whether the page Try it has a form for it. */
export const isTriable = (name: string) => Object.hasOwn(OPERATIONS, name)

export const toOperation = (name: string) => OPERATIONS[name] ?? toLabel(name)
