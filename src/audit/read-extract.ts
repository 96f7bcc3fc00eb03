import { CSV_HEADER, parseCsvLine } from './extract-csv.ts'

/** A line of an extract: its bytes, and the record in it; undefined if it is none. */
export type ExtractLine = {
  readonly bytes: Buffer
  readonly record: Readonly<Record<string, unknown>> | undefined
}

/** The longest line has a checkpoint of many chains. */
const MOST_BYTES = 16 * 1024 * 1024
const LINE_FEED = 0x0a
const QUOTE = 0x22
const BRACE = 0x7b

/** The lines of a file. The header of a CSV file is a line with an empty record. */
export async function* readExtract(pieces: AsyncIterable<Uint8Array>): AsyncIterable<ExtractLine> {
  let parse: ((line: string) => ExtractLine['record']) | undefined
  for await (const bytes of splitLines(pieces)) {
    const text = toText(bytes)
    const isHeader = parse === undefined && text === CSV_HEADER
    parse ??= isHeader ? parseCsvLine : parseJsonLine
    yield { bytes, record: isHeader ? {} : text === undefined ? undefined : parse(text) }
  }
}

/** Undefined if it is not UTF-8. */
function toText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function parseJsonLine(line: string): ExtractLine['record'] {
  try {
    const value = JSON.parse(line) as unknown
    return typeof value === 'object' && value !== null ? (value as ExtractLine['record']) : undefined
  } catch {
    return undefined
  }
}

/** In CSV, a line feed between quotes does not end a line. In JSON there is none: it is escaped. */
async function* splitLines(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  let held: Buffer = Buffer.alloc(0)
  let looked = 0
  let isJson: boolean | undefined
  let isQuoted = false
  for await (const piece of pieces) {
    held = Buffer.concat([held, piece])
    isJson ??= held[0] === BRACE
    let start = 0
    for (; looked < held.length; looked++) {
      if (held[looked] === QUOTE && !isJson) isQuoted = !isQuoted
      if (held[looked] !== LINE_FEED || isQuoted) continue
      yield held.subarray(start, looked + 1)
      start = looked + 1
    }
    held = held.subarray(start)
    looked -= start
    if (held.length > MOST_BYTES) break
  }
  if (held.length > 0) yield held
}
