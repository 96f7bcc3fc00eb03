import type { Kind } from '../../crypto/mac.ts'
import type { SealedMedia, SealedRecord } from '../sealed-entry.ts'

/** A record that is ready to be saved, and its picture if it has one. */
export type SealedRow = { readonly record: SealedRecord; readonly media: SealedMedia | undefined }

const LENGTHS_BYTES = 8
const SUBJECT_BYTES = 32
const DIGEST_BYTES = 32
const MEDIA_ID_BYTES = 16

/** Packs rows into one buffer, which is transferred to another thread without a copy. */
export type RowPacker = {
  readonly add: (row: SealedRow) => void
  /** Adds a row without a picture: `write` writes its subject, its digest and its sealed value, of this size. */
  readonly addWritten: (sealedBytes: number, write: (target: Buffer, at: number) => void) => void
  readonly take: () => { readonly packed: Uint8Array<ArrayBuffer>; readonly count: number }
}

/** `expectedBytes` avoids most copies while it grows. */
export function createRowPacker(expectedBytes: number): RowPacker {
  let memory = Buffer.from(new ArrayBuffer(expectedBytes))
  let end = 0
  let count = 0
  const begin = (sealedBytes: number, mediaBytes: number) => {
    const size = LENGTHS_BYTES + SUBJECT_BYTES + DIGEST_BYTES + sealedBytes + MEDIA_ID_BYTES + mediaBytes
    if (end + size > memory.length) memory = Buffer.from(memory.buffer.transfer(2 * memory.length + size))
    memory.writeUInt32LE(sealedBytes, end)
    memory.writeUInt32LE(mediaBytes, end + 4)
    end += LENGTHS_BYTES
    count++
  }
  const put = (part: Uint8Array) => {
    memory.set(part, end)
    end += part.length
  }
  return {
    add: ({ record, media }) => {
      begin(record.sealed.length, media?.sealed.length ?? 0)
      for (const part of [record.subject, record.digest, record.sealed]) put(part)
      if (media) for (const part of [media.id, media.sealed]) put(part)
    },
    addWritten: (sealedBytes, write) => {
      begin(sealedBytes, 0)
      write(memory, end)
      end += SUBJECT_BYTES + DIGEST_BYTES + sealedBytes
    },
    take: () => ({ packed: new Uint8Array(memory.buffer.transfer(end)), count }),
  }
}

/** The rows of a packed buffer. */
export function unpackRows(kind: Kind, keyVersion: number, packed: Uint8Array): SealedRow[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length)
  const rows: SealedRow[] = []
  let at = 0
  const take = (length: number) => {
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const sealedBytes = bytes.readUInt32LE(at)
    const mediaBytes = bytes.readUInt32LE(at + 4)
    at += LENGTHS_BYTES
    const subject = take(SUBJECT_BYTES)
    const record = { kind, keyVersion, subject, digest: take(DIGEST_BYTES), sealed: take(sealedBytes) }
    const media =
      mediaBytes === 0
        ? undefined
        : { id: take(MEDIA_ID_BYTES), subject, keyVersion, sealed: take(mediaBytes) }
    rows.push({ record, media })
  }
  return rows
}
