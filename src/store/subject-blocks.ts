import { hash } from 'node:crypto'

/**
 * A block lists the subjects of consecutive rows of a chain. Its entries are in 256 buckets, by the first byte of the subject;
 * an entry is the next six bytes and the offset of the row in the block. So a person is found by one bucket of each block.
 */
export type SubjectBlock = {
  readonly chain: string
  readonly first: number
  readonly last: number
  /** The entries of each bucket that has any. */
  readonly pages: readonly (readonly [bucket: number, entries: Uint8Array])[]
}

export type SubjectOfRow = { readonly sequence: number; readonly subject: string }

/** The rows of a full block. Offsets have two bytes. */
export const BLOCK_ROWS = 10_000

const PREFIX_BYTES = 6
const ENTRY_BYTES = PREFIX_BYTES + 2
const KEY = /^[0-9a-f]{14}/

/** Bucket and prefix in hex. A subject is a keyed hash in hex; any other text is hashed. */
const toKey = (subject: string) => KEY.exec(subject)?.[0] ?? hash('sha256', subject).slice(0, 14)

export const toBucket = (subject: string) => Number.parseInt(toKey(subject).slice(0, 2), 16)

export function toPages(rows: readonly SubjectOfRow[], first: number): SubjectBlock['pages'] {
  const buckets = new Map<number, string[]>()
  for (const { sequence, subject } of rows) {
    const key = toKey(subject)
    const bucket = Number.parseInt(key.slice(0, 2), 16)
    const entry = key.slice(2) + (sequence - first).toString(16).padStart(4, '0')
    const entries = buckets.get(bucket)
    if (entries) entries.push(entry)
    else buckets.set(bucket, [entry])
  }
  return [...buckets].map(([bucket, entries]) => [bucket, Buffer.from(entries.join(''), 'hex')] as const)
}

/** The sequences of the rows that may be about this subject: the prefix can be shared. */
export function findInPage(page: Uint8Array, subject: string, first: number): number[] {
  const entries = Buffer.from(page.buffer, page.byteOffset, page.length)
  const prefix = Buffer.from(toKey(subject).slice(2), 'hex')
  const found: number[] = []
  for (let at = entries.indexOf(prefix); at !== -1; at = entries.indexOf(prefix, at + 1))
    if (at % ENTRY_BYTES === 0) found.push(first + entries.readUInt16BE(at + PREFIX_BYTES))
  return found
}
