import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { type RowPages, TEXT_COLUMNS, UnexpectedValue } from './row-pages.ts'

/** From where a thread reads the audit log that a snapshot shows. For PostgreSQL the address holds the password. */
export type PageSource =
  | { readonly path: string }
  | { readonly databaseUrl: string; readonly snapshot: string }

export async function openRowPages(source: PageSource): Promise<RowPages> {
  if ('path' in source) return openSqliteRowPages(source.path)
  // Loaded on demand: SQLite needs no driver.
  const { openPostgresRowPages } = await import('./postgres-row-pages.ts')
  return openPostgresRowPages(source.databaseUrl, source.snapshot)
}

/** Few enough for the caches of the processor. */
const ROWS_AT_ONCE = 500
const SEPARATOR = 0x1f
/** In each byte of a word: the separator, a one, the bit that no ASCII character has. */
const SEPARATORS = 0x1f1f1f1f
const ONES = 0x01010101
const HIGH_BITS = 0x80808080 | 0
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
const ROW = `concat_ws(x'1f', sequence, ${CELLS}, concat(previous_hash, $nonce, hash, $nonce))`
/** Blobs are greater than any text or number. */
const IS_WRONG = `${[...TEXT_COLUMNS, 'format'].map((column) => `${column} >= x''`).join(' OR ')}
  OR previous_hash < x'' OR hash < x''`
/** In the order of the primary key, over which the rows are found. Rows in another order would not be accepted. */
const READ_PAGE = `SELECT CAST(group_concat(${ROW}, '') AS BLOB), count(CASE WHEN ${IS_WRONG} THEN 1 END)
  FROM audit WHERE chain = $chain AND sequence > $after AND sequence <= $upTo`

const WAIT_MS = 5000

/** A read-only connection with a snapshot of its own. */
function openSqliteRowPages(path: string): RowPages {
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

/** The joined rows, and the page that is made of them. */
type Work = {
  readonly joined: DataView
  readonly page: Buffer
  readonly view: DataView
  readonly nonce: DataView
  /** Where the next field is read, and where it is written. */
  at: number
  end: number
}

/** Writes the rows of a page with the lengths of their fields. Returns where they end. */
function writeRows(joined: Uint8Array, nonce: Uint8Array, name: Uint8Array, page: Buffer): number {
  const work: Work = { joined: toView(joined), page, view: toView(page), nonce: toView(nonce), at: 0, end: 0 }
  while (work.at < joined.length) {
    work.view.setUint32(work.end + 2, name.length)
    work.end += 6
    for (let index = 0; index < name.length; index++) page[work.end++] = name[index] as number
    for (let field = 0; field < TEXT_FIELDS; field++) writeText(work)
    for (let hash = 0; hash < 2; hash++) writeHash(work)
  }
  return work.end
}

const toView = ({ buffer, byteOffset, length }: Uint8Array) => new DataView(buffer, byteOffset, length)

const hasSeparator = (word: number) => {
  const others = word ^ SEPARATORS
  return ((others - ONES) & ~others & HIGH_BITS) !== 0
}

/** Four bytes at once, then the last ones. */
function writeText(work: Work): void {
  const { joined, view } = work
  const start = work.end + 4
  let { at } = work
  let end = start
  let bits = 0
  for (; at + 4 <= joined.byteLength; at += 4, end += 4) {
    const word = joined.getInt32(at)
    if (hasSeparator(word)) break
    bits |= word
    view.setInt32(end, word)
  }
  for (; ; at++, end++) {
    if (at === joined.byteLength) throw new UnexpectedValue()
    const byte = joined.getUint8(at)
    if (byte === SEPARATOR) break
    bits |= byte
    view.setUint8(end, byte)
  }
  const isAbsent = end - start === NONCE_BYTES && hasNonce(view, start, work.nonce)
  // SQLite stores any bytes as text. Read as text they would be other bytes.
  if ((bits & HIGH_BITS) !== 0 && !isAbsent && !isUtf8(work.page.subarray(start, end)))
    throw new UnexpectedValue()
  view.setUint32(work.end, isAbsent ? ABSENT : end - start)
  work.at = at + 1
  work.end = isAbsent ? start : end
}

function writeHash(work: Work): void {
  const { joined, view, nonce, at } = work
  if (at + HASH_BYTES + NONCE_BYTES > joined.byteLength || !hasNonce(joined, at + HASH_BYTES, nonce))
    throw new UnexpectedValue()
  view.setUint32(work.end, HASH_BYTES)
  for (let index = 0; index < HASH_BYTES; index += 4)
    view.setInt32(work.end + 4 + index, joined.getInt32(at + index))
  work.at = at + HASH_BYTES + NONCE_BYTES
  work.end += 4 + HASH_BYTES
}

const hasNonce = (bytes: DataView, at: number, nonce: DataView) =>
  bytes.getInt32(at) === nonce.getInt32(0) && bytes.getInt32(at + 4) === nonce.getInt32(4)
