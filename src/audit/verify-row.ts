import { hash } from 'node:crypto'

/** The fields of a row in the order of hashing. Not shared with the writer on purpose. See docs/audit-format.md. */
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
] as const

/** The previous hash of the first row of a chain. */
export const ZERO_HASH = '0'.repeat(64)

const VERSION = 1
const ABSENT = 0xffffffff
const SEQUENCE_AT = HASHED_FIELDS.indexOf('sequence')
const HASH_BYTES = 32

/** The hash of a row in hex; undefined when a field has an impossible type. */
export type RowHasher = (fields: readonly unknown[], previousHash: string) => string | undefined

/** Uses one buffer, which grows when a row needs more. */
export function createRowHasher(): RowHasher {
  let memory = Buffer.allocUnsafeSlow(16 * 1024)
  const makeRoom = (needed: number) => {
    const larger = Buffer.allocUnsafeSlow(needed * 2)
    memory.copy(larger)
    memory = larger
  }
  return (fields, previousHash) => {
    memory[0] = VERSION
    let end = 1
    for (let index = 0; index < HASHED_FIELDS.length; index++) {
      const text = toText(fields[index], index)
      if (text === undefined) return undefined
      // No character takes more than three bytes for each of its UTF-16 units.
      const most = end + 4 + (text?.length ?? 0) * 3 + HASH_BYTES
      if (most > memory.length) makeRoom(most)
      const length = text === null ? 0 : memory.write(text, end + 4)
      memory.writeUInt32BE(text === null ? ABSENT : length, end)
      end += 4 + length
    }
    end += memory.write(previousHash, end, 'hex')
    return hash('sha256', memory.subarray(0, end), 'hex')
  }
}

function toText(field: unknown, index: number): string | null | undefined {
  if (index === SEQUENCE_AT) return Number.isSafeInteger(field) ? String(field) : undefined
  return typeof field === 'string' || field === null ? field : undefined
}
