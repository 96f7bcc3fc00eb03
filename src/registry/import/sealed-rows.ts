import type { Kind } from '../../crypto/blind-index.ts'
import type { SealedMedia, SealedRecord } from '../../store/sealed-record.ts'

/** A record that is ready to be saved, and its picture if it has one. */
export type SealedRow = { readonly record: SealedRecord; readonly media: SealedMedia | undefined }
export type UnpackedRow = SealedRow & { readonly record: PackedRecord }

const LENGTHS_BYTES = 8
const SUBJECT_BYTES = 32
const DIGEST_BYTES = 32
const MEDIA_ID_BYTES = 16

/** Packs rows into one buffer, which is transferred to another thread without a copy. */
export function packRows(rows: readonly SealedRow[]): Uint8Array<ArrayBuffer> {
  const packed = Buffer.from(new ArrayBuffer(rows.reduce((size, row) => size + toSize(row), 0)))
  let at = 0
  const put = (part: Uint8Array) => {
    packed.set(part, at)
    at += part.length
  }
  for (const { record, media } of rows) {
    packed.writeUInt32LE(record.sealed.length, at)
    packed.writeUInt32LE(media?.sealed.length ?? 0, at + 4)
    at += LENGTHS_BYTES
    put(record.subject)
    put(record.digest)
    put(record.sealed)
    if (!media) continue
    put(media.id)
    put(media.sealed)
  }
  return packed
}

const toSize = ({ record, media }: SealedRow) =>
  LENGTHS_BYTES +
  SUBJECT_BYTES +
  DIGEST_BYTES +
  record.sealed.length +
  (media ? MEDIA_ID_BYTES + media.sealed.length : 0)

/** The rows of a packed buffer. */
export function* unpackRows(kind: Kind, keyVersion: number, packed: Uint8Array): Generator<UnpackedRow> {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length)
  let at = 0
  while (at < bytes.length) {
    const record = new PackedRecord(kind, keyVersion, bytes, at)
    at = record.end
    const length = record.mediaLength
    if (length === 0) {
      yield { record, media: undefined }
      continue
    }
    const id = bytes.subarray(at, at + MEDIA_ID_BYTES)
    const sealed = bytes.subarray(at + MEDIA_ID_BYTES, at + MEDIA_ID_BYTES + length)
    at += MEDIA_ID_BYTES + length
    yield { record, media: { id, subject: record.subject, keyVersion, sealed } }
  }
}

/** A record that is read from the buffer on demand: thousands of them wait to be saved. */
class PackedRecord implements SealedRecord {
  readonly kind: Kind
  readonly keyVersion: number
  readonly #bytes: Buffer
  readonly #start: number

  constructor(kind: Kind, keyVersion: number, bytes: Buffer, start: number) {
    this.kind = kind
    this.keyVersion = keyVersion
    this.#bytes = bytes
    this.#start = start + LENGTHS_BYTES
  }

  get subject() {
    return this.#bytes.subarray(this.#start, this.#start + SUBJECT_BYTES)
  }

  get digest() {
    const start = this.#start + SUBJECT_BYTES
    return this.#bytes.subarray(start, start + DIGEST_BYTES)
  }

  get sealed() {
    return this.#bytes.subarray(this.#start + SUBJECT_BYTES + DIGEST_BYTES, this.end)
  }

  get end() {
    return this.#start + SUBJECT_BYTES + DIGEST_BYTES + this.#bytes.readUInt32LE(this.#start - LENGTHS_BYTES)
  }

  get mediaLength() {
    return this.#bytes.readUInt32LE(this.#start - 4)
  }
}
