import { createBlankRecord } from '../../contract/blank-record.ts'
import type { Kind } from '../../crypto/blind-index.ts'
import type { Value } from '../record-values.ts'
import { hasControlCharacter, LONGEST_TEXT } from './clean-text.ts'
import { type Column, toCells } from './csv.ts'
import { createFlatFinisher } from './flat-finisher.ts'
import { RESULT_ONLY, toFieldNames } from './record-fields.ts'
import { learnLayout, type RowLayout } from './row-layout.ts'
import type { Format } from './rows.ts'

/** The values of a record in the order of the contract. */
type FlatRow = { readonly number: string; readonly values: readonly Value[] }

/**
 * Reads a usual row without building objects. Undefined for every row that needs more care, also for one to reject: the row
 * cleaner reads it again, with the same result for a usual row.
 */
type FlatReader = {
  readonly read: (text: string) => FlatRow | undefined
  /** Uses an accepted row as the example for the next rows. */
  readonly learn: (text: string) => void
}

const IGNORED = -1

export function createFlatReader(kind: Kind, format: Format, columns: readonly Column[]): FlatReader {
  const blank = toLeaves(createBlankRecord(kind))
  const slots = toSlots(kind, blank.length)
  const finish = createFlatFinisher(kind, (name) => slots.get(name) as number)
  const toRow = (places: readonly number[], texts: readonly (string | undefined)[], first: number) => {
    const values = fill([...blank], places, texts, first)
    const number = values && finish(values)
    return values && number !== undefined ? { number, values } : undefined
  }
  if (format === 'csv') {
    const places = toPlaces(slots, columns.map(toName))
    const read = (text: string) => {
      const cells = places && !hasControlCharacter(text) ? toCellsOrNone(text) : undefined
      return places && cells?.length === places.length ? toRow(places, cells, 0) : undefined
    }
    return { read, learn: () => {} }
  }
  let known: { readonly layout: RowLayout; readonly places: readonly number[] } | undefined
  return {
    read: (text) => {
      const found = known?.layout.pattern.exec(text)
      // The first text of a match is the whole row.
      return known && found ? toRow(known.places, found, 1) : undefined
    },
    learn: (text) => {
      const layout = learnLayout(text)
      const places = layout && toPlaces(slots, layout.names)
      if (places) known = { layout, places }
    },
  }
}

/** Undefined when a text is not as it would be stored. */
function fill(
  values: Value[],
  places: readonly number[],
  texts: readonly (string | undefined)[],
  first: number,
): Value[] | undefined {
  for (let index = 0; index < places.length; index++) {
    const place = places[index] as number
    const text = texts[index + first]
    if (place === IGNORED || text === undefined || text === '') continue
    if (text.length > LONGEST_TEXT || !isTrimmed(text)) return undefined
    values[place] = text
  }
  return values
}

const isPlain = (code: number) => code > 0x20 && code < 0x7f

const isTrimmed = (text: string) =>
  (isPlain(text.charCodeAt(0)) && isPlain(text.charCodeAt(text.length - 1))) || text.trim() === text

/** A row with broken quotes is rejected by the row cleaner. */
function toCellsOrNone(text: string): string[] | undefined {
  try {
    return toCells(text)
  } catch {
    return undefined
  }
}

function toSlots(kind: Kind, count: number): ReadonlyMap<string, number> {
  const names = toFieldNames(kind).slice(0, count)
  const slots = new Map<string, number>(names.map((name, index) => [name, index]))
  for (const name of RESULT_ONLY) slots.set(name, IGNORED)
  // The row cleaner does not store it either.
  if (kind === 'nin') slots.set('personal_info.image_url', IGNORED)
  return slots
}

/** Undefined when a name has no slot: a picture is left to the row cleaner. */
function toPlaces(slots: ReadonlyMap<string, number>, names: readonly string[]): number[] | undefined {
  const places = names.map((name) => slots.get(name))
  return places.every((place) => place !== undefined) ? places : undefined
}

const toName = ({ group, field }: Column) => (group === undefined ? field : `${group}.${field}`)

const toLeaves = (record: object): Value[] =>
  Object.values(record).flatMap((value) =>
    typeof value === 'object' && value !== null ? toLeaves(value) : [value as Value],
  )
