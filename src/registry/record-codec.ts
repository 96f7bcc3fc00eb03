import type { RecordOf } from '../contract/blank-record.ts'
import { BvnRecord } from '../contract/bvn.ts'
import { NinRecord } from '../contract/nin.ts'
import type { Kind } from '../crypto/blind-index.ts'
import { readValues, toRecord, type Value } from './record-values.ts'

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
