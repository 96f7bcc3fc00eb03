import { Ajv } from 'ajv'
import { BvnRecord } from '../../contract/bvn.ts'
import { NinRecord } from '../../contract/nin.ts'
import { toLocalPhone, toPhoneCore } from '../../contract/person.ts'
import type { RecordOf } from '../../contract/record.ts'
import { readRecordedPhones, toFullName } from '../../contract/record.ts'
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
