import { extname } from 'node:path'
import type { Read } from './input.ts'

export const FORMATS = ['ndjson', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export const toFormat = (file: string): Format => (extname(file).toLowerCase() === '.csv' ? 'csv' : 'ndjson')

/** A longer row is rejected, so that no file can exhaust the memory. */
export const MAX_ROW_BYTES = 4 * 1024 * 1024
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

/** Whole rows, enough to be worth a message to a thread. */
export type Chunk = {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Where it ends in the file. */
  readonly end: number
  /** Set when the chunk stands for one row that is too long: its number of line ends. */
  readonly skippedLines?: number
}

const CHUNK_BYTES = 256 * 1024

/** Splits the input into chunks at the ends of rows. `offset` is where in the file reading begins. */
export async function* cutChunks(read: Read, format: Format, offset: number): AsyncGenerator<Chunk> {
  const window = createWindow(read, offset)
  while (await window.fill()) {
    const end = findLastRowEnd(format, window.held())
    if (end > 0) yield window.take(end)
    if (window.held().length >= MAX_ROW_BYTES) yield await skipRow(window)
  }
  const rest = window.held().length
  if (rest > 0) yield window.take(rest)
}

/** Quotes cannot be relied on in a row that is too long: it is skipped up to the next line end. */
async function skipRow(window: Window): Promise<Chunk> {
  let skippedLines = countLineEnds(window.held())
  window.drop(window.held().length)
  while (await window.fill()) {
    const lineEnd = window.held().indexOf(LINE_END)
    window.drop(lineEnd === -1 ? window.held().length : lineEnd + 1)
    if (lineEnd === -1) continue
    skippedLines++
    break
  }
  return { ...window.take(0), skippedLines }
}

function findLastRowEnd(format: Format, bytes: Buffer): number {
  if (format === 'ndjson') return bytes.lastIndexOf(LINE_END) + 1
  let last = 0
  for (let end = findRowEnd(format, bytes, 0); end !== -1; end = findRowEnd(format, bytes, last)) last = end
  return last
}

type Window = {
  /** Reads more; false at the end. */
  readonly fill: () => Promise<boolean>
  readonly held: () => Buffer
  readonly drop: (length: number) => void
  readonly take: (length: number) => Chunk
}

/** One buffer with room for the longest row and the next read. */
function createWindow(read: Read, offset: number): Window {
  const memory = Buffer.alloc(MAX_ROW_BYTES + CHUNK_BYTES)
  let length = 0
  let start = offset
  const drop = (dropped: number) => {
    memory.copyWithin(0, dropped, length)
    length -= dropped
    start += dropped
  }
  return {
    fill: async () => {
      const count = await readFully(read, memory.subarray(length, length + CHUNK_BYTES))
      length += count
      return count > 0
    },
    held: () => memory.subarray(0, length),
    drop,
    take: (taken) => {
      const bytes = new Uint8Array(memory.subarray(0, taken))
      drop(taken)
      return { bytes, end: start }
    },
  }
}

/** A read from a pipe returns few bytes. */
async function readFully(read: Read, target: Buffer): Promise<number> {
  let filled = 0
  while (filled < target.length) {
    const count = await read(target.subarray(filled))
    if (count === 0) break
    filled += count
  }
  return filled
}
