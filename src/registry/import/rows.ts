import { extname } from 'node:path'

export const FORMATS = ['ndjson', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export const toFormat = (file: string): Format => (extname(file).toLowerCase() === '.csv' ? 'csv' : 'ndjson')

/** A longer row is rejected, so that no file can exhaust the memory. */
export const LONGEST_ROW = 4 * 1024 * 1024
export const TOO_LONG = 'the row is longer than 4 MiB'

export const LINE_END = 0x0a
const CARRIAGE_RETURN = 0x0d
const QUOTE = 0x22
const COMMA = 0x2c

/** The offset after the row that begins at `start`, or -1 when it does not end in these bytes. */
export function findRowEnd(format: Format, bytes: Buffer, start: number): number {
  let from = start
  for (;;) {
    const end = bytes.indexOf(LINE_END, from)
    if (end === -1) return -1
    const open = format === 'csv' ? findOpeningQuote(bytes, from, end) : -1
    if (open === -1) return end + 1
    // A line end within quotes does not end a row.
    from = findBehindQuotes(bytes, open + 1)
    if (from === -1) return -1
  }
}

/** A quote opens only at the start of a cell. */
function findOpeningQuote(bytes: Buffer, from: number, end: number): number {
  const line = bytes.subarray(from, end)
  let at = line.indexOf(QUOTE)
  while (at !== -1) {
    const before = bytes[from + at - 1]
    if (from + at === 0 || before === COMMA || before === LINE_END) return from + at
    at = line.indexOf(QUOTE, at + 1)
  }
  return -1
}

/** A doubled quote is a quote in the text; a single one ends it. */
function findBehindQuotes(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(QUOTE, from)
  while (at !== -1 && bytes[at + 1] === QUOTE) at = bytes.indexOf(QUOTE, at + 2)
  return at === -1 ? -1 : at + 1
}

type Row = {
  /** Without its line end. */
  readonly bytes: Buffer
  /** Where it ends in the chunk. */
  readonly end: number
  readonly lines: number
}

/** The row of a chunk that begins at `start`; the last one may lack its line end. */
export function readRow(format: Format, chunk: Buffer, start: number): Row {
  const found = findRowEnd(format, chunk, start)
  const end = found === -1 ? chunk.length : found
  const bytes = chunk.subarray(start, end)
  return { bytes: withoutLineEnd(bytes), end, lines: format === 'csv' ? countLineEnds(bytes) : 1 }
}

/** All rows of a chunk, with their lines counted from 0. */
export function* splitRows(format: Format, chunk: Buffer): Generator<Row & { readonly line: number }> {
  let line = 0
  for (let start = 0; start < chunk.length; ) {
    const row = readRow(format, chunk, start)
    yield { ...row, line }
    line += row.lines
    start = row.end
  }
}

export function countLineEnds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(LINE_END); at !== -1; at = bytes.indexOf(LINE_END, at + 1)) count++
  return count
}

export function withoutLineEnd(bytes: Buffer): Buffer {
  let end = bytes.length
  if (bytes[end - 1] === LINE_END) end--
  if (bytes[end - 1] === CARRIAGE_RETURN) end--
  return bytes.subarray(0, end)
}
