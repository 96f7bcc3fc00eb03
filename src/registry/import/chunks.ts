import type { Read } from './input.ts'
import { countLineEnds, type Format, findRowEnd, LINE_END, LONGEST_ROW } from './rows.ts'

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
    if (window.held().length >= LONGEST_ROW) yield await skipRow(window)
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
  const memory = Buffer.alloc(LONGEST_ROW + CHUNK_BYTES)
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
