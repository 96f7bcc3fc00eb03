import { saysNothing } from '../../contract/no-value.ts'
import { hasControlCharacter, LONGEST_TEXT } from './clean-text.ts'

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
  if (end - start > LONGEST_TEXT) return false
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
  if (text.length > LONGEST_TEXT || hasControlCharacter(text) || text.trim() !== text) return false
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

/** Bytes by whether a value goes on behind them: the two signs given, `\`, control characters, and the first byte of some. */
export function toStops(...signs: readonly number[]): Uint8Array {
  const stops = new Uint8Array(256).fill(1, 0, 0x20)
  for (const sign of [...signs, BACKSLASH, DELETE, BEFORE_CONTROL]) stops[sign] = 1
  return stops
}

export const BACKSLASH = 0x5c
const DELETE = 0x7f
/** The control characters 80 to 9f are c2 80 to c2 9f in UTF-8. */
const BEFORE_CONTROL = 0xc2
const AFTER_CONTROLS = 0xa0

/** Whether the byte at which a scan stopped begins a usual character. */
export const isUsual = (bytes: Buffer, at: number): boolean =>
  bytes[at] === BEFORE_CONTROL && (bytes[at + 1] ?? 0) >= AFTER_CONTROLS
