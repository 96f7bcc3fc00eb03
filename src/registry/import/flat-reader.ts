import type { Kind } from '../../crypto/blind-index.ts'
import type { Column } from './csv.ts'
import { readCsvRow } from './csv-row.ts'
import { createContentWriter } from './flat-content.ts'
import { createFlatFinisher } from './flat-finisher.ts'
import { clearValues, createFlatValues, IGNORED } from './flat-values.ts'
import { readJsonRow } from './json-row.ts'
import { RESULT_ONLY, toFieldNames } from './record-fields.ts'
import { learnLayout, type RowLayout } from './row-layout.ts'
import { type Format, LINE_END } from './rows.ts'

/** A row that was read: its number, its stored content (both valid until the next read), and where the next row begins. */
type FlatRow = { readonly number: Buffer; readonly content: Buffer; readonly end: number }

/**
 * Reads a usual row from its bytes, without an object or a string for each value. Undefined for every row that needs more care,
 * also for one to reject: the row cleaner reads it again, with the same result for a usual row.
 */
type FlatReader = {
  /** The row that begins here. The chunk is valid UTF-8. */
  readonly read: (chunk: Buffer, start: number) => FlatRow | undefined
  /** Uses an accepted row as the example for the next rows. */
  readonly learn: (text: string) => void
}

export function createFlatReader(kind: Kind, format: Format, columns: readonly Column[]): FlatReader {
  const slots = toSlots(kind)
  const values = createFlatValues(slots.size)
  const finish = createFlatFinisher(kind, (name) => slots.get(name) as number)
  const writeContent = createContentWriter(kind)
  let layout: RowLayout | undefined
  let places = format === 'csv' ? toPlaces(slots, columns.map(toName)) : undefined
  const readRow = (start: number): number => {
    if (!places) return -1
    return layout ? readJsonRow(layout, places, values, start) : readCsvRow(places, values, start)
  }
  return {
    read: (chunk, start) => {
      clearValues(values, chunk)
      const stop = readRow(start)
      const end = stop === -1 ? -1 : skipLineEnd(chunk, stop)
      const number = end === -1 ? undefined : finish(values)
      return number === undefined ? undefined : { number, content: writeContent(values), end }
    },
    learn: (text) => {
      if (format === 'csv') return
      const learned = learnLayout(text)
      const found = learned && toPlaces(slots, learned.names)
      if (!found) return
      layout = learned
      places = found
    },
  }
}

const CARRIAGE_RETURN = 0x0d

/** -1 when the row does not end here. */
function skipLineEnd(bytes: Buffer, stop: number): number {
  if (stop === bytes.length) return stop
  const at = bytes[stop] === CARRIAGE_RETURN ? stop + 1 : stop
  return bytes[at] === LINE_END ? at + 1 : -1
}

function toSlots(kind: Kind): ReadonlyMap<string, number> {
  const slots = new Map<string, number>(toFieldNames(kind).map((name, index) => [name, index]))
  for (const name of RESULT_ONLY) slots.set(name, IGNORED)
  // The row cleaner does not store it either.
  if (kind === 'nin') slots.set('personal_info.image_url', IGNORED)
  // Left to the row cleaner.
  slots.delete('picture')
  return slots
}

/** Undefined when a name has no slot. */
function toPlaces(slots: ReadonlyMap<string, number>, names: readonly string[]): number[] | undefined {
  const places = names.map((name) => slots.get(name))
  return places.every((place) => place !== undefined) ? places : undefined
}

const toName = ({ group, field }: Column) => (group === undefined ? field : `${group}.${field}`)
