/**
 * Rows of a composite type as PostgreSQL receives them in binary: an array of records, each field with its type and its length.
 * The server takes the fields as they are, where it would have to parse JSON and to find each value in it.
 */
export type Records = { bytes: Buffer; end: number }

/** The types of PostgreSQL itself have the same numbers everywhere. */
export const OID = { bool: 16, bytea: 17, bigint: 20, smallint: 21, int: 23, text: 25 } as const

/** The number of a type of ours differs from database to database. The server knows from the statement which one it is. */
const SOME_TYPE = 0x7fffffff
const HEAD_BYTES = 20
const NULL_LENGTH = -1
/** Longer fields are copied by native code, whose call costs more than the bytes of a short one. */
const SHORT = 64

/** `size` is an estimate. */
export function createRecords(count: number, size: number): Records {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + size)
  const [dimensions, hasNulls, lowerBound] = [1, 1, 1]
  let end = 0
  for (const word of [dimensions, hasNulls, SOME_TYPE, count, lowerBound]) end = bytes.writeInt32BE(word, end)
  return { bytes, end }
}

export const toArrayValue = ({ bytes, end }: Records): Buffer => bytes.subarray(0, end)

/** Adds a record of so many fields, which `addFields` adds. */
export function addRecord(records: Records, fields: number, addFields: () => void): void {
  makeRoom(records, 8)
  const start = records.end
  records.bytes.writeInt32BE(fields, start + 4)
  records.end = start + 8
  addFields()
  records.bytes.writeInt32BE(records.end - start - 4, start)
}

/** A field whose length and bytes stand in `source` as PostgreSQL has them: four bytes, and none after a length of -1. */
export function copyField(records: Records, type: number, source: Buffer, at: number): number {
  const length = source.readInt32BE(at)
  const next = at + 4 + Math.max(0, length)
  let end = beginField(records, type, length)
  const { bytes } = records
  if (length > SHORT) source.copy(bytes, end, at + 4, next)
  else for (let from = at + 4; from < next; from++) bytes[end++] = source[from] as number
  return next
}

export function addBytes(records: Records, type: number, value: Uint8Array | null): void {
  const start = beginField(records, type, value === null ? NULL_LENGTH : value.length)
  if (value !== null) records.bytes.set(value, start)
}

/** As bytes. Null is null. */
export function addHex(records: Records, hex: string | null): void {
  const start = beginField(records, OID.bytea, hex === null ? NULL_LENGTH : hex.length / 2)
  if (hex !== null) records.bytes.write(hex, start, 'hex')
}

export function addText(records: Records, text: string | null): void {
  const start = beginField(records, OID.text, text === null ? NULL_LENGTH : Buffer.byteLength(text))
  if (text !== null) records.bytes.write(text, start)
}

export function addBigint(records: Records, value: number | null): void {
  const start = beginField(records, OID.bigint, value === null ? NULL_LENGTH : 8)
  if (value === null) return
  records.bytes.writeInt32BE(Math.floor(value / 2 ** 32), start)
  records.bytes.writeUInt32BE(value >>> 0, start + 4)
}

export function addInt(records: Records, value: number): void {
  const start = beginField(records, OID.int, 4)
  records.bytes.writeInt32BE(value, start)
}

export function addSmallint(records: Records, value: number): void {
  const start = beginField(records, OID.smallint, 2)
  records.bytes.writeInt16BE(value, start)
}

export function addBool(records: Records, value: boolean): void {
  const start = beginField(records, OID.bool, 1)
  records.bytes[start] = value ? 1 : 0
}

/** Returns where the bytes of the field belong. Call it before `records.bytes` is read: it may replace them by larger ones. */
function beginField(records: Records, type: number, length: number): number {
  const size = Math.max(0, length)
  makeRoom(records, 8 + size)
  const start = records.end
  records.bytes.writeInt32BE(type, start)
  records.bytes.writeInt32BE(length, start + 4)
  records.end = start + 8 + size
  return start + 8
}

function makeRoom(records: Records, size: number): void {
  const needed = records.end + size
  if (needed <= records.bytes.length) return
  const larger = Buffer.allocUnsafe(needed * 2)
  records.bytes.copy(larger, 0, 0, records.end)
  records.bytes = larger
}
