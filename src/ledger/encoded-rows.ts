import type { Database, Value } from '../database/database.ts'
import { AUDIT_COLUMNS, type AuditRow } from './audit-row.ts'
import {
  addBytes,
  addRecord,
  addSmallint,
  copyField,
  createRecords,
  OID,
  toArrayValue,
} from './postgres-records.ts'

/**
 * Audit rows as they are hashed (docs/audit-format.md), one after another, each followed by its hash. SQLite is written from
 * these bytes: the writer thread gets one buffer, and no text is built and parsed on the way.
 */
export type EncodedRows = Uint8Array

/** The fields that have a length, in the order of the table. */
const FIELDS = AUDIT_COLUMNS.filter(
  (column) => column !== 'format' && column !== 'previous_hash' && column !== 'hash',
)
const TEXT_FIELDS = FIELDS.length
const SEQUENCE = FIELDS.indexOf('sequence')
const HASH_BYTES = 32
const LENGTH_BYTES = 4
const NULL_LENGTH = 0xffffffff
/** Most rows are shorter. The buffer grows for others. */
const USUAL_BYTES = 640
/** Longer texts are written by native code, whose call costs more than the bytes of a short one. */
const SHORT_TEXT = 64
const MAX_ASCII = 0x7f

/** Rows are added at `end`. `bytes` is replaced when it is full, so views of it stay valid but not current. */
export type RowBuffer = { bytes: Buffer<ArrayBuffer>; end: number }

/** In memory of its own: a thread is sent the whole buffer that a view belongs to. */
export const createRowBuffer = (rows: number): RowBuffer => ({
  bytes: Buffer.alloc(rows * USUAL_BYTES),
  end: 0,
})

/** Adds what is hashed of a row: its format, its fields with their lengths, and the hash before. */
export function addRow(buffer: RowBuffer, row: Omit<AuditRow, 'hash'>): void {
  makeRoom(buffer, 1)
  buffer.bytes[buffer.end] = row.format
  buffer.end += 1
  for (const column of FIELDS) addField(buffer, row[column])
  addHash(buffer, row.previous_hash)
}

export function addHash(buffer: RowBuffer, hash: Uint8Array): void {
  makeRoom(buffer, HASH_BYTES)
  buffer.bytes.set(hash, buffer.end)
  buffer.end += HASH_BYTES
}

export const toEncodedRows = ({ bytes, end }: RowBuffer): EncodedRows => bytes.subarray(0, end)

/** For rows that were not linked just now. */
export function encodeRows(rows: readonly AuditRow[]): EncodedRows {
  const buffer = createRowBuffer(rows.length)
  for (const row of rows) {
    addRow(buffer, row)
    addHash(buffer, row.hash)
  }
  return toEncodedRows(buffer)
}

function addField(buffer: RowBuffer, value: string | number | null): void {
  const text = value === null ? '' : String(value)
  // No text has more bytes than three for each unit.
  makeRoom(buffer, LENGTH_BYTES + text.length * 3)
  const start = buffer.end + LENGTH_BYTES
  const length = writeText(buffer.bytes, start, text)
  buffer.bytes.writeUInt32BE(value === null ? NULL_LENGTH : length, buffer.end)
  buffer.end = start + length
}

/** Returns the number of bytes. */
function writeText(bytes: Buffer, start: number, text: string): number {
  if (text.length > SHORT_TEXT) return bytes.write(text, start)
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > MAX_ASCII) return bytes.write(text, start)
    bytes[start + index] = unit
  }
  return text.length
}

function makeRoom(buffer: RowBuffer, size: number): void {
  const needed = buffer.end + size
  if (needed <= buffer.bytes.length) return
  const larger = Buffer.alloc(needed * 2)
  larger.set(buffer.bytes.subarray(0, buffer.end))
  buffer.bytes = larger
}

/** The values of each row in the order of AUDIT_COLUMNS. */
export function* readRows(encoded: EncodedRows): Generator<Value[]> {
  const bytes = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)
  const last: LastText[] = FIELDS.map(() => ({ start: 0, length: -1, text: '' }))
  let at = 0
  while (at < bytes.length) {
    const values: Value[] = []
    const format = bytes[at] as number
    at += 1
    for (const known of last) {
      const length = bytes.readUInt32BE(at)
      at += LENGTH_BYTES
      if (length === NULL_LENGTH) {
        values.push(null)
        continue
      }
      values.push(readText(bytes, at, length, known))
      at += length
    }
    values[SEQUENCE] = Number(values[SEQUENCE])
    values.push(
      format,
      bytes.subarray(at, at + HASH_BYTES),
      bytes.subarray(at + HASH_BYTES, at + 2 * HASH_BYTES),
    )
    at += 2 * HASH_BYTES
    yield values
  }
}

type LastText = { start: number; length: number; text: string }

/** Most fields are the same as in the row before: comparing costs less than a new text. */
function readText(bytes: Buffer, start: number, length: number, last: LastText): string {
  if (length === last.length && isSame(bytes, start, last.start, length)) return last.text
  last.start = start
  last.length = length
  last.text = bytes.toString('utf8', start, start + length)
  return last.text
}

function isSame(bytes: Buffer, one: number, other: number, length: number): boolean {
  for (let index = 0; index < length; index++) if (bytes[one + index] !== bytes[other + index]) return false
  return true
}

/** Rows as the database takes them: PostgreSQL as records, which it unpacks itself, SQLite as the bytes that were hashed. */
export type PackedRows = RecordRows | EncodedRows

/** Rows of one chain, which follow `previous`. */
export type RecordRows = {
  readonly records: Uint8Array
  readonly chain: string
  readonly previous: { readonly sequence: number; readonly hash: Uint8Array }
}

/** `encoded` are the same rows, if they were encoded before. */
type PackRows = (rows: readonly AuditRow[], encoded?: EncodedRows) => PackedRows

export const createPackRows = ({ dialect }: Pick<Database, 'dialect'>): PackRows =>
  dialect === 'postgres' ? packRecords : (rows, encoded = encodeRows(rows)) => encoded

/** Type and length of each field, and the length of the record. */
const MAX_ADDED_BYTES = 8 * (AUDIT_COLUMNS.length + 1)

/** The fields as they were hashed, which have the lengths that PostgreSQL wants before each. */
export function packRecords(rows: readonly AuditRow[], encoded: EncodedRows = encodeRows(rows)): RecordRows {
  const source = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)
  const records = createRecords(rows.length, source.length + rows.length * MAX_ADDED_BYTES)
  let at = 0
  for (const { format, previous_hash, hash } of rows)
    addRecord(records, AUDIT_COLUMNS.length, () => {
      at += 1
      for (let field = 0; field < TEXT_FIELDS; field++) at = copyField(records, OID.text, source, at)
      at += 2 * HASH_BYTES
      addSmallint(records, format)
      addBytes(records, OID.bytea, previous_hash)
      addBytes(records, OID.bytea, hash)
    })
  const [first] = rows
  const previous = { sequence: (first?.sequence ?? 1) - 1, hash: first?.previous_hash ?? new Uint8Array(0) }
  return { records: toArrayValue(records), chain: first?.chain ?? '', previous }
}
