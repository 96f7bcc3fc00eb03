import { Ajv } from 'ajv'
import { BvnRecord } from '../../contract/bvn.ts'
import { NinRecord } from '../../contract/nin.ts'
import { toLocalPhone, toPhoneCore } from '../../contract/person.ts'
import type { RecordOf } from '../../contract/record.ts'
import { readRecordedPhones, saysNotListed, toFullName } from '../../contract/record.ts'
import {
  type Day,
  isSameDay,
  readDay,
  toHyphenatedDay,
  toLongDay,
  toNumericDay,
  toShortDay,
} from '../../contract/time.ts'
import type { Kind } from '../../crypto/mac.ts'
import { clearValue, type FlatValues, isAscii, isBlank, readText } from './flat-values.ts'
import { BadRow, createFieldReader } from './record-fields.ts'

export type CleanRow = {
  readonly number: string
  readonly record: RecordOf[Kind]
  readonly picture: Buffer | undefined
}

/** Makes a record of a row: normalises dates and phones, and checks the result against the schema of the contract. */
export function createRowCleaner(kind: Kind): (row: unknown) => CleanRow {
  const ajv = new Ajv({ strict: false })
  const fits = ajv.compile(kind === 'nin' ? NinRecord : BvnRecord)
  const readFields = createFieldReader(kind)
  return (row) => {
    const fields: unknown = readFields(row)
    const number = kind === 'nin' ? finishNin(fields as NinRecord) : finishBvn(fields as BvnRecord)
    if (!fits(fields)) throw new BadRow(`the record does not fit the contract: ${toPath(fits.errors)}`)
    const picture = kind === 'nin' ? readPicture((row as { picture?: unknown }).picture) : undefined
    return { number, record: fields as RecordOf[Kind], picture }
  }
}

function finishNin(record: NinRecord): string {
  const number = toNumber(record.nin_number, 'nin_number')
  const info = record.personal_info
  info.phone_number = toPhone(info.phone_number, 'personal_info.phone_number')
  finishPerson(info, toNumericDay, toShortDay)
  return number
}

function finishBvn(record: BvnRecord): string {
  const number = toNumber(record.bvn_number, 'bvn_number')
  const info = record.personal_info
  info.phone_number = toPhone(info.phone_number, 'personal_info.phone_number')
  if (info.phone_number_2 !== null && !isHidden(info.phone_number_2))
    info.phone_number_2 = toPhone(info.phone_number_2, 'personal_info.phone_number_2')
  finishPerson(info, toHyphenatedDay, toLongDay)
  const registered = toDay(record.formatted_registration_date ?? '', 'formatted_registration_date')
  if (registered) record.formatted_registration_date = toLongDay(registered)
  return number
}

type Person = Pick<
  NinRecord['personal_info'],
  'first_name' | 'middle_name' | 'last_name' | 'full_name' | 'date_of_birth' | 'formatted_date_of_birth'
>

function finishPerson(info: Person, toFigures: (day: Day) => string, toWords: (day: Day) => string): void {
  if (info.full_name === '') info.full_name = toFullName([info.first_name, info.middle_name, info.last_name])
  const figures = toDay(info.date_of_birth, 'personal_info.date_of_birth')
  const words = toDay(info.formatted_date_of_birth, 'personal_info.formatted_date_of_birth')
  if (figures && words && !isSameDay(figures, words))
    throw new BadRow('personal_info.date_of_birth and formatted_date_of_birth are different days')
  const day = figures ?? words
  if (!day) return
  if (!isHidden(info.date_of_birth)) info.date_of_birth = toFigures(day)
  if (!isHidden(info.formatted_date_of_birth)) info.formatted_date_of_birth = toWords(day)
}

const toPath = (errors: readonly { readonly instancePath: string }[] | null | undefined) =>
  errors?.[0]?.instancePath.slice(1).replaceAll('/', '.') || 'the whole record'

const MAX_PICTURE_BYTES = 1024 * 1024

const JPEG = Buffer.from([0xff, 0xd8, 0xff])
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** The bytes of a picture given as base64 or as a data: URL; undefined when there is none. */
function readPicture(value: unknown): Buffer | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw new BadRow('picture must be a string')
  const base64 = value.replace(/^data:image\/(?:jpeg|jpg|png);base64,/, '').replace(/\s+/g, '')
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') !== base64.replace(/=+$/, ''))
    throw new BadRow('picture must be base64 or a data: URL')
  if (bytes.length > MAX_PICTURE_BYTES) throw new BadRow('picture must not be larger than 1 MiB')
  if (!startsWith(bytes, JPEG) && !startsWith(bytes, PNG)) throw new BadRow('picture must be a JPEG or a PNG')
  return bytes
}

const startsWith = (bytes: Buffer, magic: Buffer) => bytes.subarray(0, magic.length).equals(magic)

function toNumber(text: string, path: string): string {
  if (text === '') throw new BadRow(`${path} is required`)
  if (!/^\d{11}$/.test(text)) throw new BadRow(`${path} must be 11 digits`)
  return text
}

/** Any spelling becomes 0803…. */
function toPhone(text: string, path: string): string {
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
function toDay(text: string, path: string): Day | undefined {
  if (text === '' || isHidden(text)) return undefined
  const day = readDay(text)
  if (!day) throw new BadRow(`${path} is not a date that can be read`)
  return day
}

/** A value that was masked before the import is stored unchanged. */
const isHidden = (text: string) => /^\*+$/.test(text)

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
