import { BACKSLASH, type FlatValues, isUsual, putPart, putText, toStops } from './flat-values.ts'
import type { RowLayout } from './row-layout.ts'

const QUOTE = 0x22
const STOPS = toStops(QUOTE)
const NULL = Buffer.from('null')

/** Reads a row that begins here and has this layout. Returns where it ends, or -1. */
export function readJsonRow(
  { before, rest }: RowLayout,
  places: readonly number[],
  values: FlatValues,
  start: number,
): number {
  const { bytes } = values
  let at = start
  for (let index = 0; index < places.length; index++) {
    at = skip(bytes, at, before[index] as Buffer)
    if (at === -1) return -1
    at = bytes[at] === QUOTE ? readValue(values, places[index] as number, at + 1) : skip(bytes, at, NULL)
    if (at === -1) return -1
  }
  return skip(bytes, at, rest)
}

function skip(bytes: Buffer, at: number, literal: Buffer): number {
  for (let index = 0; index < literal.length; index++) if (bytes[at + index] !== literal[index]) return -1
  return at + literal.length
}

/** Returns where the text ends, behind its quote. */
function readValue(values: FlatValues, slot: number, start: number): number {
  const { bytes } = values
  let at = start
  for (;;) {
    while (STOPS[bytes[at] as number] === 0) at++
    if (bytes[at] === QUOTE) return putPart(values, slot, start, at) ? at + 1 : -1
    if (bytes[at] === BACKSLASH) return readEscapes(values, slot, start, at)
    if (!isUsual(bytes, at)) return -1
    at += 2
  }
}

function readEscapes(values: FlatValues, slot: number, start: number, firstEscape: number): number {
  const { bytes } = values
  let end = bytes.indexOf(QUOTE, firstEscape)
  while (end !== -1 && isEscaped(bytes, end, firstEscape)) end = bytes.indexOf(QUOTE, end + 1)
  const text = end === -1 ? undefined : parseText(bytes.toString('utf8', start - 1, end + 1))
  return text !== undefined && putText(values, slot, text) ? end + 1 : -1
}

/** An odd number of backslashes before it. */
function isEscaped(bytes: Buffer, quote: number, from: number): boolean {
  let at = quote
  while (at > from && bytes[at - 1] === BACKSLASH) at--
  return (quote - at) % 2 === 1
}

function parseText(json: string): string | undefined {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
