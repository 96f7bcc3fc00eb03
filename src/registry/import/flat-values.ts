import { createBlankRecord, saysNothing } from '../../contract/record.ts'
import type { Kind } from '../../crypto/mac.ts'
import type { Value } from '../record-codec.ts'
import { CONTENT_START } from '../record-codec.ts'
import { hasControlCharacter, MAX_TEXT_LENGTH } from './record-fields.ts'

/**
 * The values of one row, by slot: where they stand in the chunk, or a text to store instead. Used again for every row: an
 * object and a string for each value would cost more than to read it.
 */
export type FlatValues = {
  bytes: Buffer
  readonly starts: Int32Array
  /** The same as the start where there is no data. */
  readonly ends: Int32Array
  readonly texts: (string | undefined)[]
}

/** A value that the file has and a record does not store. */
export const IGNORED = -1

export const createFlatValues = (slots: number): FlatValues => ({
  bytes: Buffer.alloc(0),
  starts: new Int32Array(slots),
  ends: new Int32Array(slots),
  texts: new Array<string | undefined>(slots).fill(undefined),
})

export function clearValues(values: FlatValues, bytes: Buffer): void {
  const { starts, ends, texts } = values
  values.bytes = bytes
  for (let slot = 0; slot < starts.length; slot++) {
    ends[slot] = starts[slot] as number
    if (texts[slot] !== undefined) texts[slot] = undefined
  }
}

export function clearValue({ starts, ends, texts }: FlatValues, slot: number): void {
  ends[slot] = starts[slot] as number
  texts[slot] = undefined
}

/** Empty where there is no data. */
export const readText = ({ bytes, starts, ends, texts }: FlatValues, slot: number): string =>
  texts[slot] ?? bytes.toString('utf8', starts[slot], ends[slot])

export const isBlank = ({ starts, ends, texts }: FlatValues, slot: number): boolean =>
  texts[slot] === undefined && starts[slot] === ends[slot]

/** Whether the value is this text, of ASCII alone, in the bytes of the chunk. */
export function isAscii({ bytes, starts, ends, texts }: FlatValues, slot: number, text: string): boolean {
  const start = starts[slot] as number
  if ((ends[slot] as number) - start !== text.length || texts[slot] !== undefined) return false
  for (let index = 0; index < text.length; index++)
    if (bytes[start + index] !== text.charCodeAt(index)) return false
  return true
}

/** Takes a part of the chunk as a value. False when it is not as it would be stored; it has no control character. */
export function putPart(values: FlatValues, slot: number, start: number, end: number): boolean {
  if (slot === IGNORED) return true
  if (end - start > MAX_TEXT_LENGTH) return false
  const { bytes } = values
  if (start < end && !(isPlain(bytes[start]) && isPlain(bytes[end - 1]))) {
    const text = bytes.toString('utf8', start, end)
    if (text.trim() !== text) return false
  }
  values.starts[slot] = start
  values.ends[slot] = isNoValue(bytes, start, end) ? start : end
  return true
}

/** The same for a text that is not in the chunk as it is. */
export function putText(values: FlatValues, slot: number, text: string): boolean {
  if (slot === IGNORED || saysNothing(text)) return true
  if (text.length > MAX_TEXT_LENGTH || hasControlCharacter(text) || text.trim() !== text) return false
  values.texts[slot] = text
  return true
}

const SMALL_N = 0x6e
const SMALL_U = 0x75
const SPACE = 0x20
/** "none" and shorter. Longer words that begin with n have something else than letters in them. */
const MAX_N_LENGTH = 4
/** Bytes by whether a word for nothing may begin with them: n, u, and everything but letters, digits and the star. */
const STARTS = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-MO-TV-Za-mo-tv-z0-9*]/.test(String.fromCharCode(byte)) ? 0 : 1,
)

/** As `saysNothing` says. Bytes rule most values out: a text for each would cost more than to read the row. */
function isNoValue(bytes: Buffer, start: number, end: number): boolean {
  const byte = bytes[start] as number
  if (start === end || STARTS[byte] === 0) return false
  const first = byte | SPACE
  if (first === SMALL_N && end - start > MAX_N_LENGTH && isAllLetters(bytes, start, end)) return false
  if (first === SMALL_U && end - start < 'unknown'.length) return false
  return saysNothing(bytes.toString('utf8', start, end))
}

function isAllLetters(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const letter = (bytes[at] as number) | SPACE
    if (letter < 0x61 || letter > 0x7a) return false
  }
  return true
}

const isPlain = (byte: number | undefined) => byte !== undefined && byte > 0x20 && byte < 0x7f

/** The content of the record with these values, which is valid until the next one is written. */
type ContentWriter = (values: FlatValues) => Buffer

const QUOTE = 0x22
const COMMA = 0x2c
const CLOSING_BRACKET = 0x5d
/** A unit of a text takes at most six bytes in JSON. */
const MAX_VALUE_BYTES = MAX_TEXT_LENGTH * 6 + 3

/** Writes what encodeEntry would: the bytes of a JSON text without escapes are those of the value. */
export function createContentWriter(kind: Kind): ContentWriter {
  const blanks = toLeaves(createBlankRecord(kind)).map((value) => JSON.stringify(value))
  const start = Buffer.from(CONTENT_START)
  const memory = Buffer.alloc(start.length + 1 + blanks.length * (MAX_VALUE_BYTES + 1))
  memory.set(start)
  return (values) => {
    let end = start.length
    for (let slot = 0; slot < blanks.length; slot++) {
      memory[end++] = COMMA
      end = writeValue(memory, end, values, slot, blanks[slot] as string)
    }
    memory[end++] = CLOSING_BRACKET
    return memory.subarray(0, end)
  }
}

function writeValue(memory: Buffer, from: number, values: FlatValues, slot: number, blank: string): number {
  const { bytes, starts, ends, texts } = values
  const start = starts[slot] as number
  const stop = ends[slot] as number
  const text = texts[slot]
  let end = from
  if (text !== undefined) return end + memory.write(JSON.stringify(text), end)
  if (start === stop) {
    for (let index = 0; index < blank.length; index++) memory[end++] = blank.charCodeAt(index)
    return end
  }
  memory[end++] = QUOTE
  for (let at = start; at < stop; at++) memory[end++] = bytes[at] as number
  memory[end++] = QUOTE
  return end
}

const toLeaves = (record: object): Value[] =>
  Object.values(record).flatMap((value) =>
    typeof value === 'object' && value !== null ? toLeaves(value) : [value as Value],
  )
