import { BACKSLASH, type FlatValues, isUsual, putPart, putText, toStops } from './flat-values.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const QUOTED_STOPS = toStops(QUOTE)
const STOPS = toStops(COMMA, QUOTE)

/** Reads a row that begins here and has these columns. Returns where it ends, or -1. */
export function readCsvRow(places: readonly number[], values: FlatValues, start: number): number {
  const { bytes } = values
  let at = start
  for (let index = 0; index < places.length; index++) {
    if (index > 0 && bytes[at++] !== COMMA) return -1
    const slot = places[index] as number
    at = bytes[at] === QUOTE ? readQuoted(values, slot, at + 1) : readCell(values, slot, at)
    if (at === -1) return -1
  }
  return at
}

/** Returns where the cell ends: at a comma, a line end or the end of the chunk. */
function readCell(values: FlatValues, slot: number, start: number): number {
  const { bytes } = values
  let at = start
  let isPlain = true
  for (;;) {
    while (STOPS[bytes[at] as number] === 0) at++
    if (at >= bytes.length || bytes[at] === COMMA || isLineEnd(bytes, at)) break
    if (bytes[at] === QUOTE || bytes[at] === BACKSLASH) isPlain = false
    else if (!isUsual(bytes, at)) return -1
    at++
  }
  const isTaken = isPlain
    ? putPart(values, slot, start, at)
    : putText(values, slot, bytes.toString('utf8', start, at))
  return isTaken ? at : -1
}

/** A doubled quote is a quote in the text. */
function readQuoted(values: FlatValues, slot: number, start: number): number {
  const { bytes } = values
  let at = start
  let isPlain = true
  for (;;) {
    while (QUOTED_STOPS[bytes[at] as number] === 0) at++
    if (bytes[at] === QUOTE && bytes[at + 1] !== QUOTE) break
    if (bytes[at] === QUOTE) at++
    else if (bytes[at] !== BACKSLASH && !isUsual(bytes, at)) return -1
    isPlain &&= bytes[at] !== QUOTE && bytes[at] !== BACKSLASH
    at++
  }
  const isTaken = isPlain
    ? putPart(values, slot, start, at)
    : putText(values, slot, bytes.toString('utf8', start, at).replaceAll('""', '"'))
  return isTaken ? at + 1 : -1
}

const LINE_END = 0x0a
const CARRIAGE_RETURN = 0x0d
const isLineEnd = (bytes: Buffer, at: number) => bytes[at] === LINE_END || bytes[at] === CARRIAGE_RETURN
