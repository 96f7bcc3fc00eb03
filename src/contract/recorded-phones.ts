import { saysNothing } from './no-value.ts'
import { toLocalPhone } from './phone.ts'

/** Stands for a phone that cannot be read: masked, cut, or not a number. Shown as a masked value. */
export const UNREADABLE = '****'

const LONGEST = 500

/**
 * The phones in one field of a record, each as 0803…, or as UNREADABLE. A field may hold several, in a list or in one text.
 * Empty when the field says that there is none.
 */
export function readRecordedPhones(value: unknown): readonly string[] {
  if (Array.isArray(value))
    return value.flatMap((each) => (Array.isArray(each) ? [UNREADABLE] : readOne(each)))
  return readOne(value)
}

const GLUE = ', '

/** The phones as one text, for a record with one field for them. */
export const joinPhones = (value: unknown): string => readRecordedPhones(value).join(GLUE)
export const splitPhones = (text: string): readonly string[] => (text === '' ? [] : text.split(GLUE))

function readOne(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  if (typeof value !== 'string' && typeof value !== 'number') return [UNREADABLE]
  const text = toPlainSigns(String(value))
  if (text.length > LONGEST) return [UNREADABLE]
  if (saysNone(text)) return []
  // The slash of N/A does not separate phones.
  return text
    .replace(/\bn\/a\b/gi, '')
    .split(BETWEEN_PHONES)
    .flatMap(readPart)
}

/** Copied text may contain full-width digits, other hyphens and invisible marks. */
const toPlainSigns = (text: string) =>
  text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replace(/\p{Pd}/gu, '-')
    .replace(/\s+/g, ' ')
    .trim()

const saysNone = (text: string) => /^[-/.0 ]*$/.test(text) || saysNothing(text)
const BETWEEN_PHONES = /[,;/|\\&]|\band\b|\bor\b/i

const SEPARATOR = '[ ().-]*'
const spaced = (digits: string) => [...digits].join(SEPARATOR)
/** A Nigerian mobile: 0803…, 234803…, +2340803… and the bare ten digits, neither longer nor shorter. */
const MOBILE = new RegExp(
  `(?<![0-9+])(?:(?:\\+|${spaced('00')})?${SEPARATOR}${spaced('234')}${SEPARATOR})?0?${SEPARATOR}` +
    `([789]${SEPARATOR}[01](?:${SEPARATOR}[0-9]){8})(?![0-9])`,
  'g',
)
/** A complete number of another country: readable, and not a Nigerian mobile. */
const FOREIGN = /^(\+|00)(?!234)[1-9][0-9]{7,13}$/

/** One part between two separators. Leftover digits make the whole part unreadable. */
function readPart(part: string): readonly string[] {
  const trimmed = part.trim()
  if (saysNone(trimmed)) return []
  const phones = [...trimmed.matchAll(MOBILE)].map(([, core = '']) =>
    toLocalPhone(core.replace(/[^0-9]/g, '')),
  )
  if (phones.length > 0 && /^[ ().:-]*$/.test(trimmed.replace(MOBILE, ''))) return phones
  const digits = trimmed.replace(/[ ().-]/g, '')
  return FOREIGN.test(digits) ? [digits.replace(/^00/, '+')] : [UNREADABLE]
}
