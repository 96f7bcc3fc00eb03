/**
 * The lines of a block, column by column: collecting a request is then a few array writes, and nothing is printed until the
 * block is full.
 */
export type Columns = {
  /** In milliseconds since the start of the hour. */
  readonly times: number[]
  readonly micros: number[]
  /** The place of the kind of each request among the counts of the block. */
  readonly kinds: number[]
  readonly ids: string[]
  /** Empty where there is none. */
  readonly references: string[]
  /** Names of wrong fields, by the place of the request. */
  readonly fields: Map<number, string>
  /** From which place on the requests have which numbers: a block that was joined from several has several. */
  readonly starts: (readonly [place: number, number: number])[]
}

export const createColumns = (first: number): Columns => ({
  times: [],
  micros: [],
  kinds: [],
  ids: [],
  references: [],
  fields: new Map(),
  starts: [[0, first]],
})

const NUMBERS = 3
const BYTES = 4

/** Numbers as 32 bits each (little-endian), then texts. No text has a line break or a form feed. */
export function encodeColumns({ times, micros, kinds, ...texts }: Columns): Buffer {
  const count = times.length
  const numbers = Buffer.allocUnsafe(count * NUMBERS * BYTES)
  for (let place = 0; place < count; place++) {
    numbers.writeUInt32LE(times[place] as number, place * BYTES)
    numbers.writeUInt32LE(micros[place] as number, (count + place) * BYTES)
    numbers.writeUInt32LE(kinds[place] as number, (2 * count + place) * BYTES)
  }
  const { ids, references, fields, starts } = texts
  const lists = [ids, references, [...fields].map(toPair), starts.map(toPair)]
  return Buffer.concat([numbers, Buffer.from(lists.map((list) => list.join('\n')).join('\f'), 'latin1')])
}

const toPair = ([place, value]: readonly [number, string | number]) => `${place}:${value}`

/** Throws if the bytes are not those of so many requests. */
export function decodeColumns(bytes: Buffer, count: number): Columns {
  const readNumbers = (column: number) =>
    Array.from({ length: count }, (_each, place) => bytes.readUInt32LE((column * count + place) * BYTES))
  const text = bytes.toString('latin1', count * NUMBERS * BYTES)
  const [ids = [], references = [], fields = [], starts = []] = text
    .split('\f')
    .map((list) => (list === '' ? [] : list.split('\n')))
  return {
    times: readNumbers(0),
    micros: readNumbers(1),
    kinds: readNumbers(2),
    ids,
    // A list of one empty text is printed as nothing.
    references: references.length === 0 ? ids.map(() => '') : references,
    fields: new Map(fields.map(readPair)),
    starts: starts.map(readPair).map(([place, number]) => [place, Number(number)]),
  }
}

function readPair(text: string): [number, string] {
  const mark = text.indexOf(':')
  return [Number(text.slice(0, mark)), text.slice(mark + 1)]
}

/** The number of the request at a place. */
export function toNumber(starts: Columns['starts'], place: number): number {
  const [from, number] = starts.findLast(([start]) => start <= place) ?? [0, 0]
  return number + place - from
}
