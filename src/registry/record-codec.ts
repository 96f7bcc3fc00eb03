import { BvnRecord } from '../contract/bvn.ts'
import { NinRecord } from '../contract/nin.ts'
import type { RecordOf } from '../contract/record.ts'
import type { Kind } from '../crypto/mac.ts'

/** A record of the registry: the fields of the contract, and the id of the picture if there is one. */
export type Entry<K extends Kind = Kind> = { readonly record: RecordOf[K]; readonly mediaId: string | null }

type Group = { readonly name: string; readonly fields: readonly string[] | undefined }
type Nested = Record<string, Value | Record<string, Value>>

/** Raise it when the order of fields changes. Old entries must stay readable. */
const FORMAT = 1
/** How the content of an entry without a picture begins; a comma and a value follow for each field. */
export const CONTENT_START = `[${FORMAT},null`

type Shape = {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Shape>>
}
const SHAPES = { nin: NinRecord, bvn: BvnRecord } as unknown as Readonly<Record<Kind, Shape>>

/** The fields in the order of the contract. Only values are stored, which takes a third of the full JSON. */
const GROUPS: Readonly<Record<Kind, readonly Group[]>> = {
  nin: toGroups(SHAPES.nin),
  bvn: toGroups(SHAPES.bvn),
}

export function encodeEntry<K extends Kind>(kind: K, { record, mediaId }: Entry<K>): Buffer {
  const values: unknown[] = [FORMAT, mediaId]
  const nested = record as unknown as Nested
  for (const { name, fields } of GROUPS[kind]) {
    const value = nested[name]
    if (fields === undefined) values.push(value)
    else for (const field of fields) values.push((value as Record<string, Value>)[field])
  }
  return Buffer.from(JSON.stringify(values))
}

export function decodeEntry<K extends Kind>(kind: K, bytes: Uint8Array): Entry<K> {
  const values = readValues(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
  if ((values[0] as unknown) !== FORMAT) throw new Error('the entry has a format unknown to this version')
  return { record: toRecord[kind](values), mediaId: values[1] as string | null }
}

function toGroups({ properties = {} }: Shape): Group[] {
  return Object.entries(properties).map(([name, shape]) => ({
    name,
    fields: shape.properties && Object.keys(shape.properties),
  }))
}

export type Value = string | null

/**
 * A record from its values, in the order of the contract, after the format and the id of the picture. Written out: objects that are built name by name take several times
 * as long. A test compares the order with the contract.
 */
const toRecord: { readonly [K in Kind]: (values: readonly Value[]) => RecordOf[K] } = {
  nin: (values) => {
    const v = values as readonly string[]
    return {
      nin_number: v[2] as string,
      document_no: v[3] as string,
      personal_info: {
        title: v[4] as string,
        first_name: v[5] as string,
        middle_name: v[6] as string,
        last_name: v[7] as string,
        full_name: v[8] as string,
        maiden_name: v[9] as string,
        gender: v[10] as string,
        phone_number: v[11] as string,
        date_of_birth: v[12] as string,
        formatted_date_of_birth: v[13] as string,
        height: v[14] as string,
        marital_status: v[15] as string,
        image_url: v[16] as string,
        religion: v[17] as string,
      },
      next_of_kin: {
        firstname: v[18] as string,
        surname: v[19] as string,
        address: v[20] as string,
        lga: v[21] as string,
        town: v[22] as string,
        state: v[23] as string,
      },
      residential_info: {
        address: v[24] as string,
        lga_of_residence: v[25] as string,
        state_of_residence: v[26] as string,
        residence_status: v[27] as string,
      },
      indigene_info: {
        lga_of_origin: v[28] as string,
        place_of_origin: v[29] as string,
        state_of_origin: v[30] as string,
        lga_of_birth: v[31] as string,
        state_of_birth: v[32] as string,
        country_of_birth: v[33] as string,
      },
      education_profession: { educational_level: v[34] as string, profession: v[35] as string },
    }
  },
  bvn: (values) => {
    const v = values as readonly string[]
    return {
      bvn_number: v[2] as string,
      name_on_card: v[3] as string,
      enrolment_branch: v[4] as string,
      enrolment_bank: v[5] as string,
      formatted_registration_date: v[6] as string | null,
      level_of_account: v[7] as string,
      nin: v[8] as string,
      watchlisted: v[9] as string | null,
      personal_info: {
        first_name: v[10] as string,
        middle_name: v[11] as string,
        last_name: v[12] as string,
        full_name: v[13] as string,
        email: v[14] as string,
        gender: v[15] as string,
        phone_number: v[16] as string,
        phone_number_2: v[17] as string | null,
        date_of_birth: v[18] as string,
        formatted_date_of_birth: v[19] as string,
        lga_of_origin: v[20] as string,
        state_of_origin: v[21] as string,
        nationality: v[22] as string,
        marital_status: v[23] as string,
      },
      residential_info: {
        state_of_residence: v[24] as string,
        lga_of_residence: v[25] as string,
        residential_address: v[26] as string,
      },
    }
  },
}

const QUOTE = 34
const CLOSING_BRACKET = 93

/** Reads a JSON array of texts, numbers and nulls. JSON.parse looks up every short text in a table of all texts. */
export function readValues(json: string): Value[] {
  if (json.includes('\\') || json.charCodeAt(json.length - 1) !== CLOSING_BRACKET) return JSON.parse(json)
  const values: Value[] = []
  for (let at = 1; at < json.length; ) {
    const isText = json.charCodeAt(at) === QUOTE
    const end = isText ? json.indexOf('"', at + 1) : findEnd(json, at)
    if (end === -1) return JSON.parse(json)
    values.push(isText ? json.slice(at + 1, end) : JSON.parse(json.slice(at, end)))
    at = end + (isText ? 2 : 1)
  }
  return values
}

const findEnd = (json: string, from: number) => {
  const comma = json.indexOf(',', from)
  return comma === -1 ? json.length - 1 : comma
}
