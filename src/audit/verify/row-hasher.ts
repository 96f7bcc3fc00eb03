import { hash } from 'node:crypto'

/** The fields in the order of hashing. Not shared with the writer on purpose. See docs/audit-format.md. */
export const HASHED_FIELDS = [
  'chain',
  'sequence',
  'time',
  'phase',
  'request_reference',
  'key_id',
  'mode',
  'operation',
  'subject',
  'outcome',
  'sources',
  'amount',
  'consent_reference',
  'fields_released',
  'detail',
  'started_at',
] as const

/** The only format of a row. */
export const FORMAT = 2

/** How a row refers to the names of the released fields. */
export const toReference = (fields: string) => hash('sha256', fields, 'base64url').slice(0, 22)

/** The previous hash of the first row of a chain. */
export const ZERO_HASH = '0'.repeat(64)

const ABSENT = 0xffffffff
const SEQUENCE_AT = HASHED_FIELDS.indexOf('sequence')
const HASH_BYTES = 32

/** The hash of a row in hex. Undefined when the format is unknown, or a field has an impossible type. */
export type RowHasher = (
  fields: readonly unknown[],
  previousHash: string,
  format: unknown,
) => string | undefined

/** Uses one buffer, which grows when a row needs more. */
export function createRowHasher(): RowHasher {
  let memory = Buffer.allocUnsafeSlow(16 * 1024)
  const makeRoom = (needed: number) => {
    const larger = Buffer.allocUnsafeSlow(needed * 2)
    memory.copy(larger)
    memory = larger
  }
  /** Writes the length and the bytes, and returns where they end. */
  const writeField = (text: string | null, at: number): number => {
    // No character takes more than three bytes for each of its UTF-16 units.
    const most = at + 4 + (text?.length ?? 0) * 3 + HASH_BYTES
    if (most > memory.length) makeRoom(most)
    const length = text === null ? 0 : memory.write(text, at + 4)
    memory.writeUInt32BE(text === null ? ABSENT : length, at)
    return at + 4 + length
  }
  return (fields, previousHash, format) => {
    if (format !== FORMAT) return undefined
    memory[0] = FORMAT
    let end = 1
    for (let index = 0; index < HASHED_FIELDS.length; index++) {
      const text = toText(fields[index], index)
      if (text === undefined) return undefined
      end = writeField(text, end)
    }
    end += memory.write(previousHash, end, 'hex')
    return hash('sha256', memory.subarray(0, end), 'hex')
  }
}

function toText(field: unknown, index: number): string | null | undefined {
  if (index === SEQUENCE_AT) return Number.isSafeInteger(field) ? String(field) : undefined
  return typeof field === 'string' || field === null ? field : undefined
}
