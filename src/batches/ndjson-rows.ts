import { isUtf8 } from 'node:buffer'
import { type ByteWindow, openByteWindow } from './byte-window.ts'
import { type InputRow, LONGEST_ROW_BYTES, NOT_UTF8, TOO_LONG } from './input-row.ts'

const LINE_END = 0x0a
const RETURN = 0x0d

/** One JSON object on each line. Empty lines are skipped, and counted. */
export async function* readNdjsonRows(pieces: AsyncIterable<Buffer>): AsyncGenerator<InputRow> {
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
    isTooLong ||= length > LONGEST_ROW_BYTES
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
export function toJsonRow(line: number, bytes: Buffer): InputRow | undefined {
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
