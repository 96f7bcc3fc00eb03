import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { type RowPages, TEXT_COLUMNS, UnexpectedValue } from './row-pages.ts'

/** Few enough for the caches of the processor. */
const ROWS_AT_ONCE = 500
const SEPARATOR = 0x1f
const MOST_ASCII = 0x7f
const NONCE_BYTES = 8
const ABSENT = 0xffffffff
const HASH_BYTES = 32
/** sequence, the text columns, format */
const TEXT_FIELDS = TEXT_COLUMNS.length + 2

/**
 * SQLite concatenates the rows of a page: one blob costs a third of reading the cells. Fields are separated by a byte, and NULL
 * is a random value, which no text can have been prepared for. So are the borders of the two hashes, which can hold any byte.
 */
const CELLS = [...TEXT_COLUMNS, 'format'].map((column) => `ifnull(${column}, $nonce)`).join(', ')
const ROW = `concat_ws(x'1f', sequence, ${CELLS}, '') || previous_hash || $nonce || hash || $nonce`
/** Blobs are greater than any text or number. */
const IS_WRONG = `${[...TEXT_COLUMNS, 'format'].map((column) => `${column} >= x''`).join(' OR ')}
  OR previous_hash < x'' OR hash < x''`
const READ_PAGE = `SELECT CAST(group_concat(${ROW}, '') AS BLOB), count(CASE WHEN ${IS_WRONG} THEN 1 END)
  FROM (SELECT * FROM audit WHERE chain = $chain AND sequence > $after AND sequence <= $upTo ORDER BY sequence)`

const WAIT_MS = 5000

/** A read-only connection with a snapshot of its own. */
export function openSqliteRowPages(path: string): RowPages {
  const connection = new DatabaseSync(path, { readOnly: true, timeout: WAIT_MS })
  connection.exec('PRAGMA trusted_schema = OFF; BEGIN')
  return createSqliteRowPages(connection)
}

export function createSqliteRowPages(connection: DatabaseSync): RowPages {
  const nonce = createNonce()
  const statement = connection.prepare(READ_PAGE)
  statement.setReturnArrays(true)
  let page = Buffer.alloc(512 * 1024)
  return {
    read: async (chain, { after, upTo }, take) => {
      const name = Buffer.from(chain)
      for (let from = after; from < upTo; from += ROWS_AT_ONCE) {
        const to = Math.min(from + ROWS_AT_ONCE, upTo)
        const cells = statement.get({ $nonce: nonce, $chain: chain, $after: from, $upTo: to })
        const [joined, wrong] = cells as unknown as [Uint8Array | null, number]
        if (wrong !== 0) throw new UnexpectedValue()
        if (joined === null) continue
        const most = joined.length + (to - from) * (name.length + 4 * (TEXT_FIELDS + 3))
        if (most > page.length) page = Buffer.alloc(most * 2)
        take(page, writeRows(joined, nonce, name, page))
      }
    },
  }
}

/** Without the separator in it. */
function createNonce(): Buffer {
  for (;;) {
    const nonce = randomBytes(NONCE_BYTES)
    if (!nonce.includes(SEPARATOR)) return nonce
  }
}

/** Where the writer of a page is: in the joined rows, and in the page. */
type Cursor = { at: number; end: number }

/** Writes the rows of a page with the lengths of their fields. Returns where they end. */
function writeRows(joined: Uint8Array, nonce: Uint8Array, name: Uint8Array, page: Buffer): number {
  const cursor: Cursor = { at: 0, end: 0 }
  while (cursor.at < joined.length) {
    const start = writeLength(page, cursor.end + 2, name.length)
    page.set(name, start)
    cursor.end = start + name.length
    for (let field = 0; field < TEXT_FIELDS; field++) writeText(cursor, joined, nonce, page)
    for (let hash = 0; hash < 2; hash++) writeHash(cursor, joined, nonce, page)
  }
  return cursor.end
}

function writeText(cursor: Cursor, joined: Uint8Array, nonce: Uint8Array, page: Buffer): void {
  const start = cursor.end + 4
  let { at } = cursor
  let end = start
  let bits = 0
  for (let byte = joined[at++]; byte !== SEPARATOR; byte = joined[at++]) {
    if (byte === undefined) throw new UnexpectedValue()
    bits |= byte
    page[end++] = byte
  }
  const isAbsent = end - start === NONCE_BYTES && hasNonce(page, start, nonce)
  // SQLite stores any bytes as text. Read as text they would be other bytes.
  if (bits > MOST_ASCII && !isAbsent && !isUtf8(page.subarray(start, end))) throw new UnexpectedValue()
  writeLength(page, cursor.end, isAbsent ? ABSENT : end - start)
  cursor.at = at
  cursor.end = isAbsent ? start : end
}

function writeHash(cursor: Cursor, joined: Uint8Array, nonce: Uint8Array, page: Buffer): void {
  const { at } = cursor
  const start = writeLength(page, cursor.end, HASH_BYTES)
  for (let index = 0; index < HASH_BYTES; index++) page[start + index] = joined[at + index] ?? 0
  if (!hasNonce(joined, at + HASH_BYTES, nonce)) throw new UnexpectedValue()
  cursor.at = at + HASH_BYTES + NONCE_BYTES
  cursor.end = start + HASH_BYTES
}

function writeLength(page: Buffer, at: number, length: number): number {
  page[at] = length >>> 24
  page[at + 1] = length >>> 16
  page[at + 2] = length >>> 8
  page[at + 3] = length
  return at + 4
}

function hasNonce(bytes: Uint8Array, at: number, nonce: Uint8Array): boolean {
  for (let index = 0; index < NONCE_BYTES; index++) if (bytes[at + index] !== nonce[index]) return false
  return true
}
