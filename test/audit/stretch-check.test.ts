import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createStretchCheck, type Segment } from '../../src/audit/verify/stretch-check.ts'
import { UnexpectedValue } from '../../src/database/row-pages.ts'

/** Rows as bytes, written by hand from docs/audit-format.md. Fields: chain, sequence, 14 texts, then format and the two hashes. */
type Field = Buffer | null
type Changes = {
  readonly sequence?: string
  readonly format?: string
  readonly released?: string | null
  readonly time?: string
  /** Takes the place of the right previous hash, also below the hash of the row. */
  readonly previous?: Buffer
  /** Of what is stored, not of what is hashed. */
  readonly stored?: (fields: Field[]) => Field[]
}

const CHAIN = 'aaaa0001-1'
const ZERO = Buffer.alloc(32)
const [RELEASED_AT, FORMAT_AT, PREVIOUS_AT, HASH_AT] = [13, 16, 17, 18]

const toField = (field: Field) => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(field?.length ?? -1)
  return Buffer.concat([length, field ?? Buffer.alloc(0)])
}

function toRow(number: number, last: Buffer, changes: Changes = {}) {
  const { sequence = String(number), format = '2', released = null, time = 'now', previous = last } = changes
  const texts: Field[] = [Buffer.from(CHAIN), Buffer.from(sequence), Buffer.from(time)]
  while (texts.length < FORMAT_AT) texts.push(texts.length % 2 === 0 ? Buffer.from(`${texts.length}`) : null)
  texts[RELEASED_AT] = released === null ? null : Buffer.from(released)
  const hashed = Buffer.concat([Buffer.from([2]), ...texts.map(toField), previous])
  const own = hash('sha256', hashed, 'buffer')
  const fields: Field[] = [...texts, Buffer.from(format), previous, own]
  const stored = changes.stored?.(fields) ?? fields
  return { bytes: Buffer.concat([Buffer.from([9, 9]), ...stored.map(toField)]), hash: own }
}

/** Some rows after `from`, one of them changed. */
function toRows(count: number, changed: number, changes: Changes = {}, { from = 0, first = ZERO } = {}) {
  let last = first
  return Array.from({ length: count }, (_each, index) => {
    const number = from + index + 1
    const row = toRow(number, last, number === changed ? changes : {})
    last = row.hash
    return row
  })
}

type Row = ReturnType<typeof toRow>
type Cut = (page: Buffer<ArrayBuffer>) => number

/** Pages of two rows. */
function check(
  rows: readonly Row[],
  segments: readonly Segment[],
  { after = 0, previous = ZERO, cut = ((page) => page.length) as Cut } = {},
) {
  const asked: unknown[] = []
  const stretch = createStretchCheck({
    read: async (chain, range, take) => {
      asked.push([chain, range])
      const wanted = rows.slice(range.after - after, range.upTo - after)
      for (let start = 0; start < wanted.length; start += 2) {
        const page = Buffer.concat(wanted.slice(start, start + 2).map(({ bytes }) => bytes))
        take(page, cut(page))
      }
    },
  })
  const result = stretch({ chain: CHAIN, after, previous: previous.toString('hex'), segments })
  return { result, asked }
}

const all = (rows: readonly Row[]): Segment[] => [{ upTo: rows.length, hasRoot: false }]
const hex = (row: Row | undefined) => row?.hash.toString('hex')

/** As RFC 6962 defines it. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves
  if (only && leaves.length === 1) return hash('sha256', Buffer.concat([Buffer.from([0]), only]), 'buffer')
  let half = 1
  while (half * 2 < leaves.length) half *= 2
  const parts = [rootOf(leaves.slice(0, half)), rootOf(leaves.slice(half))]
  return hash('sha256', Buffer.concat([Buffer.from([1]), ...parts]), 'buffer')
}

describe('sound rows', () => {
  it.each([1, 2, 3, 9, 12, 105])('are accepted: %d of them', async (count) => {
    const rows = toRows(count, 0)
    expect(await check(rows, all(rows)).result).toEqual({
      segments: [{ hash: hex(rows.at(-1)), root: undefined }],
      references: [],
    })
  })

  it('are accepted after others, up to each segment, with the roots that are wanted', async () => {
    const first = hash('sha256', 'before', 'buffer')
    const rows = toRows(9, 0, {}, { from: 998, first })
    const segments = [
      { upTo: 1000, hasRoot: true },
      { upTo: 1003, hasRoot: false },
      { upTo: 1007, hasRoot: true },
    ]
    const { result, asked } = check(rows, segments, { after: 998, previous: first })
    const root = (from: number, to: number) =>
      rootOf(rows.slice(from, to).map((row) => row.hash)).toString('hex')
    expect((await result)?.segments).toEqual([
      { hash: hex(rows[1]), root: root(0, 2) },
      { hash: hex(rows[4]), root: undefined },
      { hash: hex(rows[8]), root: root(5, 9) },
    ])
    expect(asked).toEqual([
      [CHAIN, { after: 998, upTo: 1000 }],
      [CHAIN, { after: 1000, upTo: 1003 }],
      [CHAIN, { after: 1003, upTo: 1007 }],
    ])
  })

  it('name each field policy once', async () => {
    let last = ZERO
    const rows = ['one', 'one', null, 'one', 'two', 'twos', 'one', ''].map((released, index) => {
      const row = toRow(index + 1, last, { released })
      last = row.hash
      return row
    })
    expect((await check(rows, all(rows)).result)?.references).toEqual(['one', 'two', 'twos', ''])
  })
})

/** A change of row 3, in the bytes that are hashed or in those that are stored. */
const CHANGED: Readonly<Record<string, Changes>> = {
  'another text': { stored: (fields) => fields.with(2, Buffer.from('new')) },
  'a text that is absent': { stored: (fields) => fields.with(2, null) },
  'another chain': { stored: (fields) => fields.with(0, Buffer.from('aaaa0001-2')) },
  'another format': { format: '3' },
  'the format in two digits': { format: '22' },
  'a format that begins otherwise': { format: '12' },
  'no format': { stored: (fields) => fields.with(FORMAT_AT, null) },
  'an empty format': { format: '' },
  'the next number': { sequence: '4' },
  'the number before': { sequence: '2' },
  'a number with a zero before it': { sequence: '03' },
  'a number with more digits': { sequence: '13' },
  'no number': { sequence: '' },
  'another previous hash': { previous: hash('sha256', 'other', 'buffer') },
  'a previous hash that is too short': { previous: Buffer.alloc(31) },
  'a previous hash that is too long': { previous: Buffer.alloc(33) },
  'no previous hash': { stored: (fields) => fields.with(PREVIOUS_AT, null) },
  'a hash that is too short': {
    stored: (fields) => fields.with(HASH_AT, fields[HASH_AT]?.subarray(0, 31) ?? null),
  },
  'a hash that is too long': {
    stored: (fields) => fields.with(HASH_AT, Buffer.concat([fields[HASH_AT] ?? ZERO, Buffer.from([0])])),
  },
  'no hash': { stored: (fields) => fields.with(HASH_AT, null) },
}

describe('a row', () => {
  it.each(Object.keys(CHANGED))('with %s is not accepted', async (name) => {
    // Also as the last one: no row after it fails.
    for (const count of [3, 5]) {
      const rows = toRows(count, 3, CHANGED[name])
      expect(await check(rows, all(rows)).result, `of ${count}`).toBeUndefined()
    }
  })

  it('with any other bit in one of its hashes is not accepted', async () => {
    for (const field of [PREVIOUS_AT, HASH_AT])
      for (let bit = 0; bit < 256; bit += 7) {
        const stored = (fields: Field[]) => {
          const bytes = Buffer.from(fields[field] ?? ZERO)
          bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
          return fields.with(field, bytes)
        }
        const rows = toRows(2, 2, { stored })
        expect(await check(rows, all(rows)).result, `bit ${bit} of field ${field}`).toBeUndefined()
      }
  })

  it('that does not follow the last one before is not accepted', async () => {
    const rows = toRows(3, 0)
    const previous = hash('sha256', 'other', 'buffer')
    expect(await check(rows, all(rows), { previous }).result).toBeUndefined()
    expect(await check(rows.slice(0, 1), all(rows.slice(0, 1)), { previous }).result).toBeUndefined()
  })

  it('of which the page has only a part is not accepted', async () => {
    const rows = toRows(1, 0)
    const size = rows[0]?.bytes.length ?? 0
    for (let kept = 1; kept < size; kept++)
      expect(await check(rows, all(rows), { cut: () => kept }).result, `${kept} bytes`).toBeUndefined()
  })

  it('whose field has an impossible length is not accepted', async () => {
    const rows = toRows(1, 0)
    for (const length of [-2, 0x7fffffff]) {
      const [row] = rows
      const bytes = Buffer.from(row?.bytes ?? ZERO)
      bytes.writeInt32BE(length, 2)
      expect(await check([{ bytes, hash: ZERO }], all(rows)).result).toBeUndefined()
    }
  })
})

describe('a stretch', () => {
  it('that lacks rows at its end is not accepted', async () => {
    const rows = toRows(4, 0)
    expect(await check(rows.slice(0, 3), all(rows)).result).toBeUndefined()
    expect(await check([], all(rows)).result).toBeUndefined()
  })

  it('that lacks a row between is not accepted', async () => {
    const rows = toRows(4, 0)
    const [one, , three, four] = rows as [Row, Row, Row, Row]
    expect(await check([one, three, four], all(rows)).result).toBeUndefined()
  })

  it.each([
    ['is not accepted if it holds a value that is no text', new UnexpectedValue(), undefined],
    ['fails if it cannot be read', new Error('the disk fails'), 'the disk fails'],
  ])('%s', async (_what, error, message) => {
    const stretch = createStretchCheck({ read: () => Promise.reject(error) })
    const result = stretch({
      chain: CHAIN,
      after: 0,
      previous: ZERO.toString('hex'),
      segments: [{ upTo: 1, hasRoot: false }],
    })
    if (message === undefined) expect(await result).toBeUndefined()
    else await expect(result).rejects.toThrow(message)
  })
})
