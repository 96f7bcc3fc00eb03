import { BvnRecord } from './bvn.ts'
import { NinRecord } from './nin.ts'
import { SEPARATOR, spaced, toLocalPhone } from './person.ts'

export type RecordOf = { readonly nin: NinRecord; readonly bvn: BvnRecord }

type Shape = {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Shape>>
}
const SHAPES = { nin: NinRecord, bvn: BvnRecord } as unknown as Readonly<Record<keyof RecordOf, Shape>>

/** A record without data: empty strings, and null where the contract allows it. `fill` replaces every value. */
export function createBlankRecord<K extends keyof RecordOf>(kind: K, fill = ''): RecordOf[K] {
  const blank = (shape: Shape): unknown => {
    if (shape.properties)
      return Object.fromEntries(Object.entries(shape.properties).map(([name, inner]) => [name, blank(inner)]))
    return Array.isArray(shape.type) && fill === '' ? null : fill
  }
  return blank(SHAPES[kind]) as RecordOf[K]
}

/** Stands for a value that must not be shown. Always the same length, so that it says nothing about the value. */
export const HIDDEN = '****'

/** The full name of these parts. Hidden if one of them is: "Ngozi ****" would be a name that is neither shown nor hidden. */
export function toFullName(parts: readonly string[]): string {
  const names = parts.filter((name) => name !== '')
  return names.some((name) => name.includes('*')) ? HIDDEN : names.join(' ')
}

/**
 * Words that stand where there is no value. "Null", "Nil" and "Na" are names of a few people. Their name is then empty, which says
 * less than the record; as a name, "N/A" would say something false of everybody else. "No" and "Nan" are usual names, and rarely mean
 * that there is none.
 */
const WORDS =
  /^(?:n ?[/\\] ?a|n\. ?a|na|null|undefined|nill?|none|unknown|unspecified|no (?:data|value)|not (?:available|applicable|provided|specified|stated|given|known|set))$/
/** Not "Na": the Hausa name Na Allah has it. Not "N.A.": beside a name, these are initials, as on cards ("OKAFOR N.A."). */
const WORDS_IN_NAMES = /^\(?(?:n[/\\]a|null|undefined|nill?|none)\)?$/i

/** Longer than every word, with brackets. */
const MAX_WORD_LENGTH = 24

/** Whether the text says that there is no value: empty, one of the words, or signs without a letter or digit. A masked value is one. */
export function saysNothing(text: string): boolean {
  // All the words begin with N or U, and most texts do not.
  if (/^[a-mo-tv-z0-9]/i.test(text)) return false
  if (!/[\p{L}\p{N}*]/u.test(text)) return true
  return (
    text.length <= MAX_WORD_LENGTH &&
    WORDS.test(
      toPlain(text)
        .replace(/^["'([{<]+|["')\]}>.]+$/g, '')
        .trim(),
    )
  )
}

const toPlain = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s_]+/g, ' ')
    .trim()

/** A name without the words for nothing in it: programs and clerks join the parts of "Ada null Obi". Empty without any letter. */
export function toName(text: string): string {
  // As most are: one word that does not begin as those for nothing.
  if (/^[a-mo-tv-z][a-z'-]*$/i.test(text)) return text
  const words = text.split(' ').filter((word) => word !== '')
  const left = words.filter((word) => !WORDS_IN_NAMES.test(word))
  const isName = !saysNothing(text) && left.some((word) => /[\p{L}*]/u.test(word) && !saysNothing(word))
  return isName ? left.join(' ') : ''
}

const NOT_LISTED =
  /^(?:no|n|false|0|clear|cleared|(?:is )?not (?:on )?(?:a |the |any )?(?:watch|black) ?list(?:ed)?|not (?:listed|on (?:a|the|any) list)|no (?:watch|black) ?list(?: entry| entries)?)$/

/** Longer than every text above. */
const MAX_NOT_LISTED_LENGTH = 100

/** Whether the text of a watch list means that there is no entry. Any other text is an entry: dropping one would clear the person. */
export const saysNotListed = (text: string): boolean =>
  saysNothing(text) ||
  (text.length <= MAX_NOT_LISTED_LENGTH &&
    NOT_LISTED.test(
      toPlain(text)
        .replace(/-/g, ' ')
        .replace(/[ .]+$/, ''),
    ))

/** Stands for a phone that cannot be read: masked, cut, or not a number. Shown as a masked value. */
export const UNREADABLE = HIDDEN

const MAX_PHONES_LENGTH = 500
/** Of the phones in a list together, and of a text before its signs are made plain. No record has as many. */
const MAX_RAW_LENGTH = 2000

/**
 * The phones in one field of a record, each as 0803…, or as UNREADABLE. A field may hold several, in a list or in one text.
 * Empty when the field says that there is none.
 */
export function readRecordedPhones(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return readOne(value)
  if (value.reduce<number>((sum, each) => sum + toLength(each), 0) > MAX_RAW_LENGTH) return [UNREADABLE]
  return value.flatMap((each) => (Array.isArray(each) ? [UNREADABLE] : readOne(each)))
}

/** With what separates it from the next one. */
const toLength = (value: unknown) => (typeof value === 'string' ? value.length : 10) + 1

const GLUE = ', '

/** The phones as one text, for a record with one field for them. */
export const joinPhones = (value: unknown): string => readRecordedPhones(value).join(GLUE)
export const splitPhones = (text: string): readonly string[] => (text === '' ? [] : text.split(GLUE))

function readOne(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  if (typeof value !== 'string' && typeof value !== 'number') return [UNREADABLE]
  const raw = String(value)
  if (raw.length > MAX_RAW_LENGTH) return [UNREADABLE]
  const text = toPlainSigns(raw)
  if (text.length > MAX_PHONES_LENGTH) return [UNREADABLE]
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

/** A Nigerian mobile: 0803…, 234803…, +2340803… and the bare ten digits, neither longer nor shorter. */
const MOBILE = new RegExp(
  `(?<![0-9+])(?:(?:\\+|${spaced('00')})?${SEPARATOR}${spaced('234')}${SEPARATOR})?0?${SEPARATOR}` +
    `([789]${SEPARATOR}[01](?:${SEPARATOR}[0-9]){8})(?![0-9])`,
  'g',
)
/**
 * A complete number of another country: readable, and not a Nigerian mobile. One that begins like a Nigerian mobile has more than ten
 * digits in every country: with fewer, its 234 was dropped, or a zero was added.
 */
const FOREIGN = /^(\+|00)(?!234|[789][01][0-9]{6,8}$)[1-9][0-9]{7,13}$/

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
