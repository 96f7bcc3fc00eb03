import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import {
  createBlankRecord,
  HIDDEN,
  joinPhones,
  saysNothing,
  saysNotListed,
  toFullName,
  toName,
} from '../contract/record.ts'
import { type Day, readDay, toHyphenatedDay, toLongDay, toNumericDay, toShortDay } from '../contract/time.ts'

/** A vendor's values in the contract's layout: any value may be missing, null, or of another type. */
export type Given<T> = {
  readonly [Name in keyof T]?: NonNullable<T[Name]> extends object ? Given<T[Name]> : unknown
}

const MAX_TEXT_LENGTH = 500

const BLANK_NIN = createBlankRecord('nin')
const BLANK_BVN = createBlankRecord('bvn')

/**
 * Converts a vendor's values to the contract's spelling. A value that cannot be read becomes empty. All phones are kept, as
 * `joinPhones` writes them: the one to return depends on the phone in the request.
 */
export function completeNin(given: Given<NinRecord>): NinRecord {
  const record = fill(BLANK_NIN, given)
  const info = record.personal_info
  info.gender = toGender(info.gender, 'm', 'f')
  info.phone_number = joinPhones(given.personal_info?.phone_number)
  info.image_url = ''
  completePerson(info, given.personal_info, toNumericDay, toShortDay)
  return record
}

export function completeBvn(given: Given<BvnRecord>): BvnRecord {
  const record = fill(BLANK_BVN, given)
  const info = record.personal_info
  info.gender = toGender(info.gender, 'Male', 'Female')
  info.phone_number = joinPhones(given.personal_info?.phone_number)
  info.phone_number_2 = joinPhones(given.personal_info?.phone_number_2) || null
  completePerson(info, given.personal_info, toHyphenatedDay, toLongDay)
  record.formatted_registration_date = toDate(record.formatted_registration_date ?? '', toLongDay) || null
  record.watchlisted = toWatchList(given.watchlisted)
  return record
}

type Person = Pick<
  NinRecord['personal_info'],
  'first_name' | 'middle_name' | 'last_name' | 'full_name' | 'date_of_birth' | 'formatted_date_of_birth'
>

const NAME_PARTS = ['first_name', 'middle_name', 'last_name'] as const

function completePerson(
  info: Person,
  given: Given<Person> | undefined,
  toFigures: (day: Day) => string,
  toWords: (day: Day) => string,
): void {
  const composed = toFullName(NAME_PARTS.map((part) => info[part]))
  // The full name may repeat a part that is a word for nothing: "Ada - Obi".
  const isPartDropped = NAME_PARTS.some((part) => info[part] === '' && toText(given?.[part]) !== '')
  if (info.full_name === '' || isPartDropped) info.full_name = composed || info.full_name
  const born = info.date_of_birth || info.formatted_date_of_birth
  info.date_of_birth = toDate(born, toFigures)
  info.formatted_date_of_birth = toDate(born, toWords)
}

/** An entry that is not text becomes "YES": dropping it would clear the person. */
function toWatchList(value: unknown): string | null {
  if (value === true) return 'YES'
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0 ? 'YES' : null
  const text = toText(value)
  return saysNotListed(text) ? null : text
}

/** How deep the record lies in the reply of a vendor, at most: {"data": {"bvn_data": {…}}}. */
const RECORD_DEPTH = 2
const WATCH_LIST = /^(is)?(watch|black)list(ed)?$/

/** The record with a watch list entry that the reply has under another name than the documented one, or beside the record. */
export function withWatchList<T extends object>(record: T, reply: unknown): T {
  if (!('watchlisted' in record) || record.watchlisted !== null) return record
  return { ...record, watchlisted: findWatchList(reply, RECORD_DEPTH) }
}

function findWatchList(part: unknown, depth: number): string | null {
  if (Array.isArray(part)) return null
  for (const [name, value] of Object.entries(toFields(part))) {
    const isEntry = WATCH_LIST.test(name.toLowerCase().replace(/[^a-z]/g, ''))
    const found = isEntry ? toWatchList(value) : depth > 0 ? findWatchList(value, depth - 1) : null
    if (found !== null) return found
  }
  return null
}

const NAME_FIELDS: ReadonlySet<string> = new Set([
  'first_name',
  'middle_name',
  'last_name',
  'full_name',
  'maiden_name',
  'name_on_card',
  // Of the next of kin.
  'firstname',
  'surname',
])

/** The blank record with the given values. Fields that it does not have are dropped. */
function fill<T extends object>(blank: T, given: unknown): T {
  const values = toFields(given)
  const filled: Record<string, unknown> = {}
  for (const [name, empty] of Object.entries(blank)) {
    const isPart = typeof empty === 'object' && empty !== null
    filled[name] = isPart ? fill(empty, values[name]) : toFieldValue(name, values[name]) || empty
  }
  return filled as T
}

const toFieldValue = (name: string, value: unknown): string =>
  NAME_FIELDS.has(name) ? toName(toText(value)) : toValue(value)

/** The text of a value in a record: empty for a word that means that there is none. Parts of a list are judged one by one. */
const toValue = (value: unknown): string => {
  const text = toText(Array.isArray(value) ? value.filter((part) => !saysNothing(toPlainText(part))) : value)
  return saysNothing(text) ? '' : text
}

/** The first of the values that says something. */
export const firstGiven = (...values: readonly unknown[]): unknown =>
  values.find((value) => toValue(value) !== '')

/** A value as text on one line. A list (an address in parts) is joined; nested lists and objects are empty. */
export function toText(value: unknown): string {
  if (!Array.isArray(value)) return toPlainText(value)
  return value
    .map(toPlainText)
    .filter((text) => text)
    .join(' ')
    .slice(0, MAX_TEXT_LENGTH)
}

/** Printable ASCII without spaces around it, and not masked. */
const PLAIN_TEXT = /^[!-)+-~](?:[ -~]*[!-~])?$/
/** What is left of a character of two units that was cut at the end. */
const HALF_CHARACTER = /[\ud800-\udbff]$/

function toPlainText(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : ''
  if (typeof value !== 'string') return ''
  // As most are: one line of plain characters.
  if (PLAIN_TEXT.test(value) && value.length <= MAX_TEXT_LENGTH) return value
  // A masked value stays masked, with a fixed length that reveals nothing. A damaged one cannot be shown either.
  if (value.includes('\ufffd') || !value.isWellFormed()) return HIDDEN
  const text = value
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed.
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim()
    .slice(0, MAX_TEXT_LENGTH)
    .replace(HALF_CHARACTER, '')
  return /^\*+$/.test(text) ? HIDDEN : text
}

/** The fields of an object; none when the value is missing or not an object. */
export const toFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

export const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** Restores the leading zeros of an eleven-digit number. Zeros alone are none. */
export function toNumber(value: unknown): string {
  const text = toValue(value)
  if (/^0+$/.test(text)) return ''
  return /^\d{1,10}$/.test(text) ? text.padStart(11, '0') : text
}

function toDate(text: string, spell: (day: Day) => string): string {
  if (text === HIDDEN) return text
  const day = readDay(text)
  return day ? spell(day) : ''
}

function toGender(text: string, male: string, female: string): string {
  if (text === HIDDEN) return text
  if (/^m(ale)?$/i.test(text)) return male
  return /^f(emale)?$/i.test(text) ? female : ''
}

/** A vendor's reference for the audit log. Undefined when it could contain a person's number, phone or name. */
export function toCleanReference(
  reference: unknown,
  secrets: readonly string[],
  record?: unknown,
): string | undefined {
  const text = typeof reference === 'number' ? String(reference) : reference
  if (typeof text !== 'string' || !/^[A-Za-z0-9._:-]{1,100}$/.test(text)) return undefined
  // Letters alone may be a person's name, and 10 to 13 digits alone a person's number.
  if (!/\d/.test(text) || /^\d{10,13}$/.test(text)) return undefined
  const digits = toDigits(text)
  const lower = text.toLowerCase()
  if (secrets.some((secret) => digits.includes(secret))) return undefined
  const values: FieldText[] = []
  addTexts(values, '', record)
  const isPersonal =
    listNumbers(values).some((secret) => digits.includes(secret)) ||
    listWords(values.filter(mayHaveWordOf(lower))).some((word) => lower.includes(word))
  return isPersonal ? undefined : text
}

type FieldText = readonly [field: string, text: string]

const MIN_DIGITS = 7
const PHONE_CORE = 10
/** Names count from three letters. Words of an address count from five: shorter ones occur inside other words. */
const MIN_NAME = 3
const MIN_WORD = 5

/** The numbers of a record that identify the person. A phone may be written without its 0 or 234. */
const listNumbers = (values: readonly FieldText[]): string[] =>
  values
    .map(([, text]) => toDigits(text))
    .filter((text) => text.length >= MIN_DIGITS)
    .flatMap((text) => [text, text.slice(-PHONE_CORE)])

/** Whether a word of the text may be in the reference: a word has three letters at least. Most texts need no further look. */
function mayHaveWordOf(reference: string): (value: FieldText) => boolean {
  const triples = [...reference.matchAll(/(?=([a-z]{3}))/g)].map(([, triple = '']) => triple)
  return ([, text]) => {
    const plain = toPlainLetters(text)
    return triples.some((triple) => plain.includes(triple))
  }
}

const toPlainLetters = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** The words of a record that identify the person. */
const listWords = (values: readonly FieldText[]): string[] =>
  values.flatMap(([field, text]) => {
    const least = field.includes('name') ? MIN_NAME : MIN_WORD
    return toPlainLetters(text)
      .split(/[^a-z]+/)
      .filter((word) => word.length >= least)
  })

function addTexts(values: FieldText[], field: string, value: unknown): void {
  if (typeof value === 'string') values.push([field, value])
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) addTexts(values, name, inner)
}

const toDigits = (text: string) => text.replace(/[^0-9]/g, '')
