/**
 * Rows of a chain as bytes, for checking hashes without an object for each row. A row is two bytes that mean nothing, then its
 * fields: PAGE_COLUMNS in that order, each as its length (unsigned 32-bit, big-endian; ffffffff for NULL) and its bytes.
 * `sequence` and `format` are decimal text. PostgreSQL sends rows so in the binary format of COPY.
 *
 * `take` gets whole rows in order, in memory that it may change and that is used again after it returns. A value of a wrong
 * type makes `read` fail, or is a field that no sound row has.
 */
export type RowPages = {
  readonly read: (
    chain: string,
    range: RowRange,
    take: (page: Buffer<ArrayBuffer>, length: number) => void,
  ) => Promise<void>
}

/** Rows after a sequence, up to another one. */
type RowRange = { readonly after: number; readonly upTo: number }

/** A value that cannot be passed on as bytes. A sound log has none. */
export class UnexpectedValue extends Error {
  constructor() {
    super('the audit log holds a value of an unexpected type')
    this.name = 'UnexpectedValue'
  }
}

/** Text columns after `chain` and `sequence`, in the order of hashing. */
export const TEXT_COLUMNS = [
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
