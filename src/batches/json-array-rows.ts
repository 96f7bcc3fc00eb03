import { AppError } from '../errors.ts'
import { type ByteWindow, openByteWindow } from './byte-window.ts'
import { type InputRow, LONGEST_ROW_BYTES, TOO_LONG } from './input-row.ts'
import { toJsonRow } from './ndjson-rows.ts'

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
export async function* readJsonArrayRows(pieces: AsyncIterable<Buffer>): AsyncGenerator<InputRow> {
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
    if (scan.at > LONGEST_ROW_BYTES) {
      isTooLong = true
      drop(scan.at)
      scan.at = 0
    }
    if (!(await fill())) throw new AppError('malformed_json')
  }
  const element = Buffer.from(held().subarray(0, scan.at))
  drop(scan.at)
  return isTooLong || element.length > LONGEST_ROW_BYTES ? undefined : element
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
