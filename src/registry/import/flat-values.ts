import { toLocalPhone, toPhoneCore } from '../../contract/person.ts'
import { createBlankRecord, saysNothing, saysNotListed, toFullName } from '../../contract/record.ts'
import {
  type Day,
  readDay,
  toHyphenatedDay,
  toLongDay,
  toNumericDay,
  toShortDay,
} from '../../contract/time.ts'
import type { Kind } from '../../crypto/mac.ts'
import type { Value } from '../record-codec.ts'
import { CONTENT_START } from '../record-codec.ts'
import { hasControlCharacter, MAX_TEXT_LENGTH } from './record-fields.ts'

/**
 * The values of one row, by slot: where they stand in the chunk, or a text to store instead. Used again for every row: an
 * object and a string for each value would cost more than to read it.
 */
export type FlatValues = {
  bytes: Buffer
  readonly starts: Int32Array
  /** The same as the start where there is no data. */
  readonly ends: Int32Array
  readonly texts: (string | undefined)[]
}

/** A value that the file has and a record does not store. */
export const IGNORED = -1

export const createFlatValues = (slots: number): FlatValues => ({
  bytes: Buffer.alloc(0),
  starts: new Int32Array(slots),
  ends: new Int32Array(slots),
  texts: new Array<string | undefined>(slots).fill(undefined),
})

export function clearValues(values: FlatValues, bytes: Buffer): void {
  const { starts, ends, texts } = values
  values.bytes = bytes
  for (let slot = 0; slot < starts.length; slot++) {
    ends[slot] = starts[slot] as number
    if (texts[slot] !== undefined) texts[slot] = undefined
  }
}

function clearValue({ starts, ends, texts }: FlatValues, slot: number): void {
  ends[slot] = starts[slot] as number
  texts[slot] = undefined
}

/** Empty where there is no data. */
const readText = ({ bytes, starts, ends, texts }: FlatValues, slot: number): string =>
  texts[slot] ?? bytes.toString('utf8', starts[slot], ends[slot])

const isBlank = ({ starts, ends, texts }: FlatValues, slot: number): boolean =>
  texts[slot] === undefined && starts[slot] === ends[slot]

/** Whether the value is this text, of ASCII alone, in the bytes of the chunk. */
function isAscii({ bytes, starts, ends, texts }: FlatValues, slot: number, text: string): boolean {
  const start = starts[slot] as number
  if ((ends[slot] as number) - start !== text.length || texts[slot] !== undefined) return false
  for (let index = 0; index < text.length; index++)
    if (bytes[start + index] !== text.charCodeAt(index)) return false
  return true
}

/** Takes a part of the chunk as a value. False when it is not as it would be stored; it has no control character. */
export function putPart(values: FlatValues, slot: number, start: number, end: number): boolean {
  if (slot === IGNORED) return true
  if (end - start > MAX_TEXT_LENGTH) return false
  const { bytes } = values
  if (start < end && !(isPlain(bytes[start]) && isPlain(bytes[end - 1]))) {
    const text = bytes.toString('utf8', start, end)
    if (text.trim() !== text) return false
  }
  values.starts[slot] = start
  values.ends[slot] = isNoValue(bytes, start, end) ? start : end
  return true
}

/** The same for a text that is not in the chunk as it is. */
export function putText(values: FlatValues, slot: number, text: string): boolean {
  if (slot === IGNORED || saysNothing(text)) return true
  if (text.length > MAX_TEXT_LENGTH || hasControlCharacter(text) || text.trim() !== text) return false
  values.texts[slot] = text
  return true
}

const SMALL_N = 0x6e
const SMALL_U = 0x75
const SPACE = 0x20
/** "none" and shorter. Longer words that begin with n have something else than letters in them. */
const MAX_N_LENGTH = 4
/** Bytes by whether a word for nothing may begin with them: n, u, and everything but letters, digits and the star. */
const STARTS = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-MO-TV-Za-mo-tv-z0-9*]/.test(String.fromCharCode(byte)) ? 0 : 1,
)

/** As `saysNothing` says. Bytes rule most values out: a text for each would cost more than to read the row. */
function isNoValue(bytes: Buffer, start: number, end: number): boolean {
  const byte = bytes[start] as number
  if (start === end || STARTS[byte] === 0) return false
  const first = byte | SPACE
  if (first === SMALL_N && end - start > MAX_N_LENGTH && isAllLetters(bytes, start, end)) return false
  if (first === SMALL_U && end - start < 'unknown'.length) return false
  return saysNothing(bytes.toString('utf8', start, end))
}

function isAllLetters(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const letter = (bytes[at] as number) | SPACE
    if (letter < 0x61 || letter > 0x7a) return false
  }
  return true
}

const isPlain = (byte: number | undefined) => byte !== undefined && byte > 0x20 && byte < 0x7f

/**
 * Normalises the values of a record as the row cleaner does. Returns the digits of its number, which are valid until the next
 * one; undefined when the row needs the cleaner.
 */
type Finisher = (values: FlatValues) => Buffer | undefined

type SlotOf = (name: string) => number
/** False when the row needs the cleaner. */
type Step = (values: FlatValues) => boolean

const NUMBER_DIGITS = 11

export function createFinisher(kind: Kind, slotOf: SlotOf): Finisher {
  const slot = slotOf(`${kind}_number`)
  const steps = kind === 'nin' ? toNinSteps(slotOf) : toBvnSteps(slotOf)
  const number = Buffer.alloc(NUMBER_DIGITS)
  return (values) => {
    if (!copyNumber(values, slot, number)) return undefined
    return steps.every((step) => step(values)) ? number : undefined
  }
}

/** False when it is not eleven digits in the bytes of the chunk. */
function copyNumber({ bytes, starts, ends }: FlatValues, slot: number, target: Buffer): boolean {
  const start = starts[slot] as number
  if ((ends[slot] as number) - start !== NUMBER_DIGITS) return false
  for (let index = 0; index < NUMBER_DIGITS; index++) {
    const byte = bytes[start + index] as number
    if (byte < DIGIT_0 || byte > DIGIT_0 + 9) return false
    target[index] = byte
  }
  return true
}

const toNinSteps = (slotOf: SlotOf): Step[] => [
  finishPhone(slotOf('personal_info.phone_number')),
  finishName(slotOf),
  finishBirthday(slotOf, createDayReader(toNumericDay, toShortDay)),
]

function toBvnSteps(slotOf: SlotOf): Step[] {
  const second = slotOf('personal_info.phone_number_2')
  const finishSecond = finishPhone(second)
  const registered = slotOf('formatted_registration_date')
  const watchlisted = slotOf('watchlisted')
  const readBvnDay = createDayReader(toHyphenatedDay, toLongDay)
  return [
    finishPhone(slotOf('personal_info.phone_number')),
    (values) => isBlank(values, second) || finishSecond(values),
    finishName(slotOf),
    finishBirthday(slotOf, readBvnDay),
    (values) => {
      const text = readText(values, registered)
      const day = text === '' ? undefined : readBvnDay(text)
      if (day) values.texts[registered] = day.words
      return text === '' || day !== undefined
    },
    (values) => {
      if (!isBlank(values, watchlisted) && saysNotListed(readText(values, watchlisted)))
        clearValue(values, watchlisted)
      return true
    },
  ]
}

function finishPhone(slot: number): Step {
  return (values) => {
    if (isLocalPhone(values, slot)) return true
    const core = toPhoneCore(readText(values, slot))
    if (core !== undefined) values.texts[slot] = toLocalPhone(core)
    return core !== undefined
  }
}

const LOCAL_DIGITS = 11
const DIGIT_0 = 0x30

/** 0, then 7, 8 or 9, then 0 or 1, and eight digits, in the bytes of the chunk. */
function isLocalPhone({ bytes, starts, ends }: FlatValues, slot: number): boolean {
  const start = starts[slot] as number
  if ((ends[slot] as number) - start !== LOCAL_DIGITS) return false
  const digit = (index: number) => (bytes[start + index] as number) - DIGIT_0
  for (let index = 3; index < LOCAL_DIGITS; index++) if (digit(index) < 0 || digit(index) > 9) return false
  return digit(0) === 0 && digit(1) >= 7 && digit(1) <= 9 && (digit(2) === 0 || digit(2) === 1)
}

function finishName(slotOf: SlotOf): Step {
  const full = slotOf('personal_info.full_name')
  const parts = ['first_name', 'middle_name', 'last_name'].map((name) => slotOf(`personal_info.${name}`))
  return (values) => {
    if (isBlank(values, full)) values.texts[full] = toFullName(parts.map((part) => readText(values, part)))
    return true
  }
}

function finishBirthday(slotOf: SlotOf, read: DayReader): Step {
  const figures = slotOf('personal_info.date_of_birth')
  const words = slotOf('personal_info.formatted_date_of_birth')
  const usual = createUsualDays(figures, words)
  const finish = (values: FlatValues, first: string, second: string): boolean => {
    const day = read(first === '' ? second : first)
    if (!day) return false
    const isSame = second === '' || second === day.words || read(second)?.figures === day.figures
    if (!isSame) return false
    if (first !== day.figures) values.texts[figures] = day.figures
    if (second !== day.words) values.texts[words] = day.words
    if (first === day.figures && second === day.words) usual.add(values, day)
    return true
  }
  return (values) => {
    if (usual.has(values)) return true
    const first = readText(values, figures)
    const second = readText(values, words)
    return (first === '' && second === '') || finish(values, first, second)
  }
}

type DayTexts = { readonly figures: string; readonly words: string }
type DayReader = (text: string) => DayTexts | undefined

/** About the days of a lifetime. */
const MAX_DAYS = 30_000

/** Remembers days: those of a million people repeat. A day in the future is not remembered. */
function createDayReader(toFigures: (day: Day) => string, toWords: (day: Day) => string): DayReader {
  const known = new Map<string, DayTexts>()
  return (text) => {
    const found = known.get(text)
    if (found) return found
    const day = readDay(text)
    if (!day) return undefined
    const texts = { figures: toFigures(day), words: toWords(day) }
    // A copy: the text may be a part of the row, which it would keep in memory.
    if (known.size < MAX_DAYS) known.set(Buffer.from(text).toString(), texts)
    return texts
  }
}

/** A power of two, more than the days of a lifetime. */
const USUAL_DAYS = 65_536

/** Days that stand in the chunk as they are stored, recognised by their bytes: a text for each would cost more than to compare them. */
function createUsualDays(figures: number, words: number) {
  const days = new Array<DayTexts | undefined>(USUAL_DAYS).fill(undefined)
  const toPlace = ({ bytes, starts, ends }: FlatValues) => {
    let sum = 0
    for (let at = starts[figures] as number; at < (ends[figures] as number); at++)
      sum = (Math.imul(sum, 31) + (bytes[at] as number)) | 0
    return sum & (USUAL_DAYS - 1)
  }
  return {
    has: (values: FlatValues): boolean => {
      const day = days[toPlace(values)]
      return day !== undefined && isAscii(values, figures, day.figures) && isAscii(values, words, day.words)
    },
    add: (values: FlatValues, day: DayTexts): void => {
      days[toPlace(values)] = day
    },
  }
}

/** The content of the record with these values, which is valid until the next one is written. */
type ContentWriter = (values: FlatValues) => Buffer

const QUOTE = 0x22
const COMMA = 0x2c
const CLOSING_BRACKET = 0x5d
/** A unit of a text takes at most six bytes in JSON. */
const MAX_VALUE_BYTES = MAX_TEXT_LENGTH * 6 + 3

/** Writes what encodeEntry would: the bytes of a JSON text without escapes are those of the value. */
export function createContentWriter(kind: Kind): ContentWriter {
  const blanks = toLeaves(createBlankRecord(kind)).map((value) => JSON.stringify(value))
  const start = Buffer.from(CONTENT_START)
  const memory = Buffer.alloc(start.length + 1 + blanks.length * (MAX_VALUE_BYTES + 1))
  memory.set(start)
  return (values) => {
    let end = start.length
    for (let slot = 0; slot < blanks.length; slot++) {
      memory[end++] = COMMA
      end = writeValue(memory, end, values, slot, blanks[slot] as string)
    }
    memory[end++] = CLOSING_BRACKET
    return memory.subarray(0, end)
  }
}

function writeValue(memory: Buffer, from: number, values: FlatValues, slot: number, blank: string): number {
  const { bytes, starts, ends, texts } = values
  const start = starts[slot] as number
  const stop = ends[slot] as number
  const text = texts[slot]
  let end = from
  if (text !== undefined) return end + memory.write(JSON.stringify(text), end)
  if (start === stop) {
    for (let index = 0; index < blank.length; index++) memory[end++] = blank.charCodeAt(index)
    return end
  }
  memory[end++] = QUOTE
  for (let at = start; at < stop; at++) memory[end++] = bytes[at] as number
  memory[end++] = QUOTE
  return end
}

const toLeaves = (record: object): Value[] =>
  Object.values(record).flatMap((value) =>
    typeof value === 'object' && value !== null ? toLeaves(value) : [value as Value],
  )
