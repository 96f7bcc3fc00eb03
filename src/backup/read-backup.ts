import { createHmac, type Hmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { RootKeys } from '../crypto/root-key.ts'
import type { Value } from '../database/database.ts'
import { SCHEMA_VERSION } from '../database/migrate.ts'
import { UserError } from '../errors.ts'
import {
  type Counts,
  type DataTable,
  decodeValue,
  type End,
  FORMAT,
  FORMAT_VERSION,
  type Header,
  isDataTable,
  MAX_LINE_BYTES,
  rowsAtOnce,
  toBackupKey,
  toMacText,
} from './format.ts'

type ReadOptions = {
  readonly onRows: (rows: Rows) => Promise<void> | void
  /** Bytes read so far, size of the file, and rows read. */
  readonly onProgress?: (done: number, total: number, rows: number) => void
}

/** Reads a backup to its end. A change or damage may be found only there: read it once before acting on it. */
export async function readBackup(
  file: string,
  rootKeys: RootKeys,
  { onRows, onProgress = () => {} }: ReadOptions,
): Promise<Contents> {
  let count = 0
  try {
    const stats = statSync(file)
    // A pipe can be read once only, and its second reading would wait for ever.
    if (!stats.isFile() && !stats.isDirectory())
      throw new UserError(`${file} is not a file. Write the backup to a file first. Nothing was changed.`)
    const total = stats.size
    const input = createReadStream(file)
    return await pipeline(input, createGunzip(), (text) =>
      parseBackup(text, rootKeys, async (rows) => {
        await onRows(rows)
        count += rows.rows.length
        onProgress(input.bytesRead, total, count)
      }),
    )
  } catch (error) {
    throw readError(file, error)
  }
}

/** A file that is no backup, or not as it was written. */
export class BadBackupError extends UserError {}

function readError(file: string, error: unknown): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException
  if (error instanceof Damaged || /^Z_/.test(code))
    return new BadBackupError(
      `${file} is damaged, cut off, or not a backup of Tabbat. Take another one. Nothing was changed.`,
    )
  if (error instanceof Altered)
    return new BadBackupError(
      `${file} was changed after it was written, or is damaged: its MAC does not fit its content. Take another one. Nothing was changed.`,
    )
  if (code === 'ENOENT') return new UserError(`There is no file ${file}.`)
  if (syscall === 'open' || syscall === 'read' || syscall === 'stat')
    return new UserError(`${file} cannot be read (${code}).`)
  return error
}

/** Some rows of one table. */
export type Rows = {
  readonly table: DataTable
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Value[])[]
}

export type Contents = { readonly header: Header; readonly counts: Counts; readonly mac: string }

/** Parses a backup, some rows at a time. At the end, compares its MAC, and the counts with those of its last line. */
export async function parseBackup(
  text: AsyncIterable<Buffer>,
  rootKeys: RootKeys,
  onRows: (rows: Rows) => Promise<void>,
): Promise<Contents> {
  const pager = createPager(onRows)
  let header: Header | undefined
  let end: End | undefined
  for await (const line of readLines(text, (first) => toBackupKey(rootKeys, toHeader(first)))) {
    if (!header) header = toHeader(line)
    else if (isRow(line)) await pager.add(line)
    else if (isEnd(line)) end = line
    else await pager.open(line)
  }
  const counts = await pager.close()
  if (!header || !end || !isSame(end.counts, counts)) throw new Damaged()
  return { header, counts, mac: end.mac }
}

/** The lines of a page may be longer together by one line. Nothing is known to be genuine before the last line was read. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024

/** Collects the rows of a table into pages. */
function createPager(onRows: (rows: Rows) => Promise<void>) {
  const counts: Counts = {}
  let page: { table: DataTable; columns: readonly string[]; rows: Value[][] } | undefined
  let bytes = 0
  const flush = async () => {
    if (!page || page.rows.length === 0) return
    counts[page.table] = (counts[page.table] ?? 0) + page.rows.length
    await onRows(page)
    page.rows = []
    bytes = 0
  }
  return {
    open: async (line: Partial<Record<string, unknown>>) => {
      await flush()
      page = { ...toTable(line), rows: [] }
    },
    add: async (values: readonly unknown[]) => {
      if (!page) throw new Damaged()
      const row = toRow(values, page.columns.length)
      bytes += countBytes(row)
      if (page.rows.push(row) === rowsAtOnce(page.table) || bytes >= MAX_PAGE_BYTES) await flush()
    },
    close: async () => {
      await flush()
      return counts
    },
  }
}

/** Refuses a backup of another version before reading its rows. */
function toHeader(line: Line): Header {
  const header = line as unknown as Partial<Header>
  const { format, root_fingerprint: root, created_at: time } = header
  if (format !== FORMAT || typeof root !== 'string' || Number.isNaN(Date.parse(String(time))))
    throw new Damaged()
  if (Number(header.version) < FORMAT_VERSION)
    throw new UserError(
      'The backup was made by a Tabbat before 0.3.0, which no release can read: make a new one with this version. Nothing was changed.',
    )
  if (!(Number(header.version) <= FORMAT_VERSION && Number(header.schema) <= SCHEMA_VERSION))
    throw new UserError(
      `The backup was made by a newer Tabbat (schema ${Number(header.schema)}, this one knows ${SCHEMA_VERSION}). Update Tabbat. Nothing was changed.`,
    )
  return header as Header
}

function toTable({ table, columns }: Partial<Record<string, unknown>>): Pick<Rows, 'table' | 'columns'> {
  const named = Array.isArray(columns) && columns.every((name) => /^[a-z][a-z0-9_]{0,62}$/.test(String(name)))
  if (!isDataTable(table) || !named) throw new Damaged()
  return { table, columns: columns as string[] }
}

function toRow(values: readonly unknown[], width: number): Value[] {
  if (values.length !== width) throw new Damaged()
  return values.map((value) => {
    const decoded = decodeValue(value)
    if (decoded === undefined) throw new Damaged()
    return decoded
  })
}

const countBytes = (row: readonly Value[]) =>
  row.reduce<number>(
    (sum, value) => sum + (typeof value === 'string' || value instanceof Uint8Array ? value.length : 8),
    0,
  )

/** Tables without rows may be missing on either side. */
const isSame = (said: Counts, found: Counts) =>
  (Object.keys({ ...found, ...said }) as DataTable[]).every(
    (table) => (said[table] ?? 0) === (found[table] ?? 0),
  )

/** The file is damaged or not a backup. */
class Damaged extends Error {}

/** The value of a line: an object, or the values of a row. */
type Line = Partial<Record<string, unknown>> | readonly unknown[]

const isRow = (line: Line): line is readonly unknown[] => Array.isArray(line)

const isEnd = (line: Line): line is Line & End =>
  !isRow(line) && line.end === true && typeof line.mac === 'string'

/** The file is whole, but its MAC is not that of its content. */
class Altered extends Error {}

/**
 * The values of all lines. `toKey` gets the first one, and gives the key of the MAC. Throws when a line follows the end or the
 * MAC does not match.
 */
async function* readLines(
  text: AsyncIterable<Buffer>,
  toKey: (first: Line) => KeyObject,
): AsyncIterable<Line> {
  let mac: Hmac | undefined
  let ended = false
  for await (const bytes of splitLines(text)) {
    const line = parseLine(bytes)
    if (ended) throw new Damaged()
    mac ??= createHmac('sha256', toKey(line))
    if (isEnd(line)) {
      ended = true
      requireMac(line, bytes, mac)
    } else mac.update(bytes).update('\n')
    yield line
  }
}

function requireMac({ mac: said }: End, bytes: Buffer, mac: Hmac): void {
  const suffix = toMacText(said)
  if (!bytes.subarray(-suffix.length).equals(Buffer.from(suffix))) throw new Damaged()
  const found = mac.update(bytes.subarray(0, -suffix.length)).digest()
  const expected = Buffer.from(said, 'hex')
  if (expected.length !== found.length || !timingSafeEqual(expected, found)) throw new Altered()
}

function parseLine(bytes: Buffer): Line {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    if (typeof value === 'object' && value !== null) return value as Line
  } catch {
    // Reported as Damaged, unlike an error of the consumer.
  }
  throw new Damaged()
}

/** Without their line feeds. Throws when a line is too long: a small file may unpack to any size. */
export async function* splitLines(text: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let pieces: Buffer[] = []
  let length = 0
  for await (const chunk of text) {
    let start = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, at))
      yield Buffer.concat(pieces)
      pieces = []
      length = 0
      start = at + 1
    }
    pieces.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > MAX_LINE_BYTES) throw new Damaged()
  }
  if (length > 0) throw new Damaged()
}
