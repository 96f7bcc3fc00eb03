import { createBlankRecord } from '../contract/blank-record.ts'
import type { BvnRecord } from '../contract/bvn.ts'
import { type Day, readDay, toHyphenatedDay, toLongDay, toNumericDay, toShortDay } from '../contract/date.ts'
import type { NinRecord } from '../contract/nin.ts'
import { joinPhones } from '../contract/recorded-phones.ts'

/** What a vendor said, laid out as the contract has it: any value may be missing, null, or of another type. */
export type Given<T> = {
  readonly [Name in keyof T]?: NonNullable<T[Name]> extends object ? Given<T[Name]> : unknown
}

const LONGEST_TEXT = 500
export const HIDDEN = '****'

/**
 * Brings what a vendor said into the one spelling of the contract. Whatever cannot be read is empty, never wrong. Phones are
 * all there, as `joinPhones` has them: which one is answered depends on the one that was asked for.
 */
export function completeNin(given: Given<NinRecord>): NinRecord {
  const record = fill(createBlankRecord('nin'), given)
  const info = record.personal_info
  info.gender = toGender(info.gender, 'm', 'f')
  info.phone_number = joinPhones(given.personal_info?.phone_number)
  info.image_url = ''
  completePerson(info, toNumericDay, toShortDay)
  return record
}

export function completeBvn(given: Given<BvnRecord>): BvnRecord {
  const record = fill(createBlankRecord('bvn'), given)
  const info = record.personal_info
  info.gender = toGender(info.gender, 'Male', 'Female')
  info.phone_number = joinPhones(given.personal_info?.phone_number)
  info.phone_number_2 = joinPhones(given.personal_info?.phone_number_2) || null
  completePerson(info, toHyphenatedDay, toLongDay)
  record.formatted_registration_date = toDate(record.formatted_registration_date ?? '', toLongDay) || null
  record.watchlisted = toWatchList(given.watchlisted)
  return record
}

type Person = Pick<
  NinRecord['personal_info'],
  'first_name' | 'middle_name' | 'last_name' | 'full_name' | 'date_of_birth' | 'formatted_date_of_birth'
>

function completePerson(info: Person, toFigures: (day: Day) => string, toWords: (day: Day) => string): void {
  if (info.full_name === '')
    info.full_name = [info.first_name, info.middle_name, info.last_name].filter((name) => name).join(' ')
  const born = info.date_of_birth || info.formatted_date_of_birth
  info.date_of_birth = toDate(born, toFigures)
  info.formatted_date_of_birth = toDate(born, toWords)
}

/** "NO" and nothing mean that there is no entry. An entry that is not text must not get lost: it would clear a person. */
function toWatchList(value: unknown): string | null {
  if (value === true) return 'YES'
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0 ? 'YES' : null
  const text = toText(value)
  return /^(no|n|false|0)?$/i.test(text) ? null : text
}

/** The blank record with the values that were given: its own fields and no others. */
function fill<T extends object>(blank: T, given: unknown): T {
  const values = (typeof given === 'object' && given !== null ? given : {}) as Record<string, unknown>
  const entries = Object.entries(blank).map(([name, empty]) => [
    name,
    typeof empty === 'object' && empty !== null ? fill(empty, values[name]) : toText(values[name]) || empty,
  ])
  return Object.fromEntries(entries) as T
}

/** A value as text on one line. Several (an address in parts) are joined; anything else, lists in lists too, is no data. */
export function toText(value: unknown): string {
  if (!Array.isArray(value)) return toPlainText(value)
  return value
    .map(toPlainText)
    .filter((text) => text)
    .join(' ')
    .slice(0, LONGEST_TEXT)
}

function toPlainText(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : ''
  if (typeof value !== 'string') return ''
  const text = value
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim()
    .slice(0, LONGEST_TEXT)
  // What a vendor hides stays hidden, and its length says nothing.
  return /^\*+$/.test(text) ? HIDDEN : text
}

/** Left out by the vendor, in whichever way it does that. */
export const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** A number of eleven digits that lost its leading zeros on the way is given them back. */
export function toNumber(value: unknown): string {
  const text = toText(value)
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
