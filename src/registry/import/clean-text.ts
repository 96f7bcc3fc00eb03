import { type Day, readDay } from '../../contract/date.ts'
import { saysNothing } from '../../contract/no-value.ts'
import { toLocalPhone, toPhoneCore } from '../../contract/phone.ts'
import { readRecordedPhones } from '../../contract/recorded-phones.ts'
import { BadRow } from './bad-row.ts'

export const LONGEST_TEXT = 500

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
export const hasControlCharacter = (text: string) => CONTROL.test(text)
const LINE_BREAKS = /\s*[\t\r\n]\s*/g

/** A field as it is stored: trimmed, on one line. A missing or empty value becomes `blank`, and so does a word such as N/A. */
export function toText<Blank extends string | null>(
  value: unknown,
  path: string,
  blank: Blank,
): string | Blank {
  if (value === undefined || value === null) return blank
  if (typeof value !== 'string') throw new BadRow(`${path} must be a string`)
  const trimmed = value.trim()
  if (saysNothing(trimmed)) return blank
  const text = hasControlCharacter(trimmed) ? toOneLine(trimmed, path) : trimmed
  if (text.length > LONGEST_TEXT) throw new BadRow(`${path} is longer than ${LONGEST_TEXT} characters`)
  return text
}

function toOneLine(text: string, path: string): string {
  const line = text.replace(LINE_BREAKS, ' ')
  if (hasControlCharacter(line)) throw new BadRow(`${path} has a control character`)
  return line
}

export function toNumber(text: string, path: string): string {
  if (text === '') throw new BadRow(`${path} is required`)
  if (!/^\d{11}$/.test(text)) throw new BadRow(`${path} must be 11 digits`)
  return text
}

/** Any spelling becomes 0803…. */
export function toPhone(text: string, path: string): string {
  if (text === '') throw new BadRow(`${path} is required`)
  const core = toPhoneCore(text)
  if (core !== undefined) return toLocalPhone(core)
  const [phone = '', ...others] = readRecordedPhones(text)
  // Only one could be stored, and a request with the other would wrongly be "not verified".
  if (others.length > 0) throw new BadRow(`${path} has more than one phone: give one`)
  if (!phone.startsWith('0')) throw new BadRow(`${path} must be a Nigerian mobile number`)
  return phone
}

/** Undefined for a missing or masked date. */
export function toDay(text: string, path: string): Day | undefined {
  if (text === '' || isHidden(text)) return undefined
  const day = readDay(text)
  if (!day) throw new BadRow(`${path} is not a date that can be read`)
  return day
}

/** A value that was masked before the import is stored unchanged. */
export const isHidden = (text: string) => /^\*+$/.test(text)
