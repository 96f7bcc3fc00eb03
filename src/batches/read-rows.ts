import { isUtf8 } from 'node:buffer'
import { DETAIL_FIELDS } from '../contract/person.ts'
import { AppError } from '../errors.ts'
import { toCells } from '../registry/import/csv.ts'
import { BadRow } from '../registry/import/record-fields.ts'
import { countLineEnds, findRowEnd, LINE_END, withoutLineEnd } from '../registry/import/rows.ts'

/** One row of an input: its fields, or why it cannot be read. `line` is where it begins. */
export type InputRow =
  | { readonly line: number; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly line: number; readonly problem: string }

/** The formats of a batch, by content type. */
export const BATCH_TYPES = {
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'application/json': 'json',
} as const
export type BatchFormat = (typeof BATCH_TYPES)[keyof typeof BATCH_TYPES]

export const MAX_ROWS = 50_000
export const MAX_BYTES = 16 * 1024 * 1024

/** A longer row is refused, so that no input can exhaust the memory. As long as the body of a single verification. */
export const MAX_ROW_BYTES = 16 * 1024

const TOO_LONG = 'The row is longer than 16 KiB.'
const NOT_UTF8 = 'The row is not UTF-8 text.'

/** The fields of a row, and the columns of a CSV. */
export const ROW_FIELDS = [
  'operation',
  'nin',
  'bvn',
  'phone',
  'amount',
  ...DETAIL_FIELDS,
  'reference',
  'consent_reference',
] as const

/** Reads the rows of a batch one by one, within the bounds of a batch. */
export async function* readRows(
  format: BatchFormat,
  pieces: AsyncIterable<Buffer>,
): AsyncGenerator<InputRow> {
  let rows = 0
  for await (const row of openRows(format, limitBytes(pieces), ROW_FIELDS)) {
    rows += 1
    if (rows > MAX_ROWS) throw new AppError('batch_too_large')
    yield row
  }
}

/** The rows of an input of any size. */
export function openRows(
  format: BatchFormat,
  pieces: AsyncIterable<Buffer>,
  columns: readonly string[],
): AsyncGenerator<InputRow> {
  if (format === 'csv') return readCsvRows(pieces, columns)
  return format === 'ndjson' ? readNdjsonRows(pieces) : readJsonArrayRows(pieces)
}

/** Throws when a body is longer than a batch may be. */
export async function* limitBytes(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > MAX_BYTES) throw new AppError('batch_too_large')
    yield piece
  }
}

const RETURN = 0x0d

/** One JSON object on each line. Empty lines are skipped, and counted. */
async function* readNdjsonRows(pieces: AsyncIterable<Buffer>): AsyncGenerator<InputRow> {
  const window = await openByteWindow(pieces)
  for (let line = 1; ; line++) {
    line += dropEmptyLines(window)
    const taken = await takeLine(window)
    const row = taken.bytes ? toJsonRow(line, taken.bytes) : { line, problem: TOO_LONG }
    if (row) yield row
    if (taken.isLast) return
  }
}

/** Returns how many. A body of millions of them would take seconds line by line. */
function dropEmptyLines({ held, drop }: ByteWindow): number {
  const bytes = held()
  let [lines, end] = [0, 0]
  for (let at = 0; bytes[at] === LINE_END || bytes[at] === RETURN; at++)
    if (bytes[at] === LINE_END) [lines, end] = [lines + 1, at + 1]
  drop(end)
  return lines
}

/** The bytes of the next line; undefined if they are too many. */
async function takeLine({ held, fill, drop }: ByteWindow) {
  let isTooLong = false
  for (;;) {
    const end = held().indexOf(LINE_END)
    const length = end === -1 ? held().length : end
    isTooLong ||= length > MAX_ROW_BYTES
    const isLast = end === -1 && !(await fill())
    if (end === -1 && !isLast) {
      if (isTooLong) drop(length)
      continue
    }
    const bytes = isTooLong ? undefined : held().subarray(0, length)
    drop(end === -1 ? length : end + 1)
    return { bytes, isLast }
  }
}

/** Undefined for white space only. */
function toJsonRow(line: number, bytes: Buffer): InputRow | undefined {
  if (!isUtf8(bytes)) return { line, problem: NOT_UTF8 }
  const text = bytes.toString().trim()
  if (text === '') return undefined
  try {
    const fields: unknown = JSON.parse(text)
    if (isObject(fields)) return { line, fields }
  } catch {
    // The message of the parser would quote the row.
    return { line, problem: 'The row is not valid JSON.' }
  }
  return { line, problem: 'The row must be a JSON object.' }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACES = [0x20, 0x09, 0x0a, 0x0d]
const NOT_A_LIST =
  'body must be a JSON array of rows. To send one object on each line, use application/x-ndjson.'

/**
 * The elements of a JSON array. `line` is the position of the element, counted from 1: an array is often on one line. An
 * element that is no row is refused alone; an array that is not well formed is refused as a whole.
 */
async function* readJsonArrayRows(pieces: AsyncIterable<Buffer>): AsyncGenerator<InputRow> {
  const window = await openByteWindow(pieces)
  const first = await skipSpace(window)
  if (first === undefined) return
  if (first !== OPEN_LIST) throw new AppError('validation_failed', { errors: { body: [NOT_A_LIST] } })
  window.drop(1)
  for (let line = 1; ; line++) {
    if ((await skipSpace(window)) === CLOSE_LIST && line === 1) break
    const element = await takeElement(window)
    const row = element ? toJsonRow(line, element) : ({ line, problem: TOO_LONG } as const)
    // Nothing between two commas.
    if (!row) throw new AppError('malformed_json')
    yield row
    if (window.held()[0] === CLOSE_LIST) break
    window.drop(1)
  }
  window.drop(1)
  if ((await skipSpace(window)) !== undefined) throw new AppError('malformed_json')
}

/** Returns the next byte that is no white space; undefined at the end. */
async function skipSpace({ held, fill, drop }: ByteWindow): Promise<number | undefined> {
  for (;;) {
    const length = held().findIndex((byte) => !SPACES.includes(byte))
    drop(length === -1 ? held().length : length)
    if (held().length > 0 || !(await fill())) return held()[0]
  }
}

type Scan = { at: number; depth: number; isText: boolean; isEscaped: boolean }

/** The bytes up to the comma or bracket that ends the element, which stays in the window. Undefined if they are too many. */
async function takeElement({ held, fill, drop }: ByteWindow): Promise<Buffer | undefined> {
  const scan: Scan = { at: 0, depth: 0, isText: false, isEscaped: false }
  let isTooLong = false
  while (!findElementEnd(scan, held())) {
    if (scan.at > MAX_ROW_BYTES) {
      isTooLong = true
      drop(scan.at)
      scan.at = 0
    }
    if (!(await fill())) throw new AppError('malformed_json')
  }
  const element = Buffer.from(held().subarray(0, scan.at))
  drop(scan.at)
  return isTooLong || element.length > MAX_ROW_BYTES ? undefined : element
}

/** False when the bytes end before the element; `scan` remembers how far it came. */
function findElementEnd(scan: Scan, bytes: Buffer): boolean {
  for (; scan.at < bytes.length; scan.at++) {
    const byte = bytes[scan.at]
    if (scan.isText) scanText(scan, byte)
    else if (byte === QUOTE) scan.isText = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) scan.depth += 1
    else if (scan.depth === 0 && (byte === COMMA || byte === CLOSE_LIST)) return true
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) scan.depth -= 1
  }
  return false
}

function scanText(scan: Scan, byte: number | undefined): void {
  if (scan.isEscaped) scan.isEscaped = false
  else if (byte === BACKSLASH) scan.isEscaped = true
  else if (byte === QUOTE) scan.isText = false
}

const NOT_CLOSED = 'The row cannot be read: a quote is not closed.'

/**
 * The rows of a CSV (RFC 4180) whose first line is a header. Names of other columns than `known` are ignored. An empty cell is
 * no data. Of a row on several lines that cannot be read, the first line is refused alone: a quote that is not closed does not
 * take other rows with it.
 */
async function* readCsvRows(
  pieces: AsyncIterable<Buffer>,
  known: readonly string[],
): AsyncGenerator<InputRow> {
  const window = await openByteWindow(pieces)
  let columns: readonly string[] | undefined
  let line = 1
  for (let row = await takeRow(window); row; row = await takeRow(window)) {
    if ('problem' in row && !columns) throw headerError(known)
    if ('problem' in row) yield { line, problem: row.problem }
    else if (row.cells.some((cell) => cell.trim() !== '')) {
      if (columns) yield toRow(line, columns, row.cells)
      else columns = readHeader(row.cells, known)
    }
    line += row.lines
  }
}

type TakenRow = { readonly lines: number } & ({ readonly cells: string[] } | { readonly problem: string })

/** Undefined at the end. */
async function takeRow(window: ByteWindow): Promise<TakenRow | undefined> {
  const { held, fill, drop } = window
  for (;;) {
    const found = findRowEnd('csv', held(), 0)
    // Before more is read: a row is not too long because its next piece is.
    const mayEndLater = found === -1 && held().length <= MAX_ROW_BYTES
    const isEnd = mayEndLater && !(await fill())
    if (mayEndLater && !isEnd) continue
    if (isEnd && held().length === 0) return undefined
    const bytes = held().subarray(0, found === -1 ? held().length : found)
    const read =
      bytes.length > MAX_ROW_BYTES ? { problem: toLengthProblem(bytes) } : readCells(withoutLineEnd(bytes))
    if ('cells' in read) {
      drop(bytes.length)
      return { ...read, lines: countLineEnds(bytes) }
    }
    await dropLine(window)
    return { ...read, lines: 1 }
  }
}

/** A short line that begins a long row has a quote that is not closed. */
const toLengthProblem = (bytes: Buffer) =>
  bytes.subarray(0, MAX_ROW_BYTES).includes(LINE_END) ? NOT_CLOSED : TOO_LONG

function readCells(bytes: Buffer): { readonly cells: string[] } | { readonly problem: string } {
  if (!isUtf8(bytes)) return { problem: NOT_UTF8 }
  try {
    return { cells: toCells(bytes.toString()) }
  } catch (error) {
    if (!(error instanceof BadRow)) throw error
    return { problem: `The row cannot be read: ${error.message}.` }
  }
}

async function dropLine({ held, fill, drop }: ByteWindow): Promise<void> {
  for (;;) {
    const end = held().indexOf(LINE_END)
    drop(end === -1 ? held().length : end + 1)
    if (end !== -1 || !(await fill())) return
  }
}

function readHeader(cells: readonly string[], known: readonly string[]): string[] {
  const names = cells.map((cell) => cell.trim().toLowerCase())
  const found = names.filter((name) => known.includes(name))
  const twice = found.find((name, index) => found.indexOf(name) !== index)
  if (twice !== undefined)
    throw new AppError('validation_failed', { errors: { header: [`header has the column ${twice} twice`] } })
  if (found.length === 0) throw headerError(known)
  return names
}

/** The header itself is not shown: without one, the first line holds personal data. */
const headerError = (known: readonly string[]) =>
  new AppError('validation_failed', {
    errors: {
      header: [`header must be the first line, with columns out of ${known.join(', ')}, separated by commas`],
    },
  })

function toRow(line: number, columns: readonly string[], cells: readonly string[]): InputRow {
  if (cells.length !== columns.length)
    return { line, problem: `The row has ${cells.length} cells, the header has ${columns.length}.` }
  const fields = columns.flatMap((name, index) => (cells[index]?.trim() ? [[name, cells[index]]] : []))
  return { line, fields: Object.fromEntries(fields) as Record<string, string> }
}

/** The bytes of an input that are read and not used yet. */
type ByteWindow = {
  readonly held: () => Buffer
  /** Reads more. False at the end of the input. */
  readonly fill: () => Promise<boolean>
  /** The first bytes are used. */
  readonly drop: (length: number) => void
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

/** Skips a byte order mark at the start. */
async function openByteWindow(pieces: AsyncIterable<Buffer>): Promise<ByteWindow> {
  const iterator = pieces[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)
  const fill = async () => {
    const { done, value } = await iterator.next()
    if (done) return false
    held = held.length === 0 ? value : Buffer.concat([held, value])
    return true
  }
  while (held.length < BYTE_ORDER_MARK.length && (await fill()));
  if (held.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
    held = held.subarray(BYTE_ORDER_MARK.length)
  return {
    held: () => held,
    fill,
    drop: (length) => {
      held = held.subarray(length)
    },
  }
}
