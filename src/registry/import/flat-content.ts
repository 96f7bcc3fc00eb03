import { createBlankRecord } from '../../contract/blank-record.ts'
import type { Kind } from '../../crypto/blind-index.ts'
import { CONTENT_START } from '../record-codec.ts'
import type { Value } from '../record-values.ts'
import { LONGEST_TEXT } from './clean-text.ts'
import type { FlatValues } from './flat-values.ts'

/** The content of the record with these values, which is valid until the next one is written. */
type ContentWriter = (values: FlatValues) => Buffer

const QUOTE = 0x22
const COMMA = 0x2c
const CLOSING_BRACKET = 0x5d
/** A unit of a text takes at most six bytes in JSON. */
const MOST_VALUE_BYTES = LONGEST_TEXT * 6 + 3

/** Writes what encodeEntry would: the bytes of a JSON text without escapes are those of the value. */
export function createContentWriter(kind: Kind): ContentWriter {
  const blanks = toLeaves(createBlankRecord(kind)).map((value) => JSON.stringify(value))
  const start = Buffer.from(CONTENT_START)
  const memory = Buffer.alloc(start.length + 1 + blanks.length * (MOST_VALUE_BYTES + 1))
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
