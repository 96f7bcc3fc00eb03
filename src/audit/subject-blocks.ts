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

/** What a block needs to know of consecutive rows, KEY_BYTES each: 1 if the row has a subject, the bucket, the prefix. */
export type RowKeys = Uint8Array

export const KEY_BYTES = 8
const BUCKETS = 256
const PREFIX_BYTES = 6
const ENTRY_BYTES = PREFIX_BYTES + 2
const PREFIX_AT = KEY_BYTES - PREFIX_BYTES

/** Writes the key of one row. A subject is a keyed hash in hex; any other text is hashed. */
export function writeKey(keys: RowKeys, at: number, subject: string | null): void {
  keys[at] = subject === null ? 0 : 1
  if (subject === null || writeHex(keys, at + 1, subject)) return
  writeHex(keys, at + 1, hash('sha256', subject))
}

/** Returns false if the text does not begin with enough digits. */
function writeHex(keys: RowKeys, at: number, text: string): boolean {
  for (let index = 0; index < KEY_BYTES - 1; index++) {
    const high = toDigit(text.charCodeAt(index * 2))
    const low = toDigit(text.charCodeAt(index * 2 + 1))
    if (high < 0 || low < 0) return false
    keys[at + index] = high * 16 + low
  }
  return true
}

/** 0 to 9 and a to f. */
function toDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  return code >= 97 && code <= 102 ? code - 87 : -1
}

/** The keys of the rows from `first` on. Those that are not given have no subject. The last one given is the last row. */
export function toKeys(rows: readonly SubjectOfRow[], first: number): RowKeys {
  const keys = new Uint8Array(((rows.at(-1)?.sequence ?? first - 1) - first + 1) * KEY_BYTES)
  for (const { sequence, subject } of rows) writeKey(keys, (sequence - first) * KEY_BYTES, subject)
  return keys
}

function toKey(subject: string): RowKeys {
  const key = new Uint8Array(KEY_BYTES)
  writeKey(key, 0, subject)
  return key
}

export const toBucket = (subject: string) => toKey(subject)[1] as number

/** The pages are parts of one buffer, in the order of their buckets. */
export function toPages(keys: RowKeys): SubjectBlock['pages'] {
  const counts = new Uint32Array(BUCKETS)
  let count = 0
  for (let at = 0; at < keys.length; at += KEY_BYTES)
    if (keys[at] === 1) {
      const bucket = keys[at + 1] as number
      counts[bucket] = (counts[bucket] as number) + 1
      count += 1
    }
  const entries = new Uint8Array(count * ENTRY_BYTES)
  const pages: [number, Uint8Array][] = []
  const ends = new Uint32Array(BUCKETS)
  for (let bucket = 0, start = 0; bucket < BUCKETS; bucket++) {
    const end = start + (counts[bucket] as number) * ENTRY_BYTES
    if (end > start) pages.push([bucket, entries.subarray(start, end)])
    ends[bucket] = start
    start = end
  }
  fillEntries(entries, ends, keys)
  return pages
}

/** `ends` are those of the entries written so far, by bucket. */
function fillEntries(entries: Uint8Array, ends: Uint32Array, keys: RowKeys): void {
  for (let at = 0, offset = 0; at < keys.length; at += KEY_BYTES, offset++) {
    if (keys[at] !== 1) continue
    const bucket = keys[at + 1] as number
    const to = ends[bucket] as number
    for (let index = 0; index < PREFIX_BYTES; index++)
      entries[to + index] = keys[at + PREFIX_AT + index] as number
    entries[to + PREFIX_BYTES] = offset >> 8
    entries[to + PREFIX_BYTES + 1] = offset & 0xff
    ends[bucket] = to + ENTRY_BYTES
  }
}

/** The sequences of the rows that may be about this subject: the prefix can be shared. */
export function findInPage(page: Uint8Array, subject: string, first: number): number[] {
  const entries = Buffer.from(page.buffer, page.byteOffset, page.length)
  const prefix = toKey(subject).subarray(PREFIX_AT)
  const found: number[] = []
  for (let at = entries.indexOf(prefix); at !== -1; at = entries.indexOf(prefix, at + 1))
    if (at % ENTRY_BYTES === 0) found.push(first + entries.readUInt16BE(at + PREFIX_BYTES))
  return found
}
