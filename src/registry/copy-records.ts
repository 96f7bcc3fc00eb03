import type { SealedRecord } from './sealed-record.ts'

export const COPY =
  'COPY registry (subject, kind, key_version, digest, sealed, updated_at) FROM STDIN (FORMAT binary)'

const COLUMNS = 6
/** The signature of the format, no flags, no extension. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const TRAILER = Buffer.from([0xff, 0xff])
const BIGINT_BYTES = 8

/** The records in the binary format of COPY: for each column its length and its bytes. */
export function encodeCopy(records: readonly SealedRecord[], at: number): Buffer {
  const size = records.reduce((sum, record) => sum + toSize(record), HEADER.length + TRAILER.length)
  const data = Buffer.allocUnsafe(size)
  data.set(HEADER)
  let end = HEADER.length
  const putBytes = (bytes: Uint8Array) => {
    data.set(bytes, data.writeUInt32BE(bytes.length, end))
    end += 4 + bytes.length
  }
  const putNumber = (value: number) => {
    end = data.writeBigInt64BE(BigInt(value), data.writeUInt32BE(BIGINT_BYTES, end))
  }
  for (const { subject, kind, keyVersion, digest, sealed } of records) {
    end = data.writeUInt16BE(COLUMNS, end)
    putBytes(subject)
    putBytes(Buffer.from(kind))
    putNumber(keyVersion)
    putBytes(digest)
    putBytes(sealed)
    putNumber(at)
  }
  data.set(TRAILER, end)
  return data
}

const toSize = ({ subject, kind, digest, sealed }: SealedRecord) =>
  2 + COLUMNS * 4 + subject.length + kind.length + digest.length + sealed.length + 2 * BIGINT_BYTES
