const PLACE = 'en-GB'

const moment = new Intl.DateTimeFormat(PLACE, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})
const exact = new Intl.DateTimeFormat(PLACE, { dateStyle: 'medium', timeStyle: 'medium' })
const whole = new Intl.NumberFormat(PLACE, { maximumFractionDigits: 0 })
const naira = new Intl.NumberFormat(PLACE, { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const percent = new Intl.NumberFormat(PLACE, { style: 'percent', maximumFractionDigits: 1 })

export const toMoment = (at: string) => moment.format(new Date(at))
export const toExactMoment = (at: string) => exact.format(new Date(at))
export const toCount = (count: number) => whole.format(count)
export const toNaira = (kobo: number) => `₦${naira.format(kobo / 100)}`
export const toPercent = (part: number | null) => (part === null ? '–' : percent.format(part))
export const toPrice = (price: string) =>
  price !== '' && Number.isFinite(Number(price)) ? `₦${naira.format(Number(price))}` : price

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

/** verify_nin and its like, as people call them. */
const OPERATIONS: Readonly<Record<string, string>> = {
  verify_nin: 'Verify NIN',
  verify_bvn: 'Verify BVN',
  list_internet_bundles: 'Internet bundles',
  list_sme_bundles: 'SME bundles',
  list_tv_add_ons: 'TV add-ons',
}
export const toOperation = (name: string) => OPERATIONS[name] ?? toLabel(name)
