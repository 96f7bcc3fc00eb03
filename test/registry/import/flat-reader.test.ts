import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Kind } from '../../../src/crypto/mac.ts'
import { createRowCleaner } from '../../../src/registry/import/clean-row.ts'
import { readHeader, toGivenRow } from '../../../src/registry/import/csv.ts'
import { createFlatReader } from '../../../src/registry/import/flat-reader.ts'
import { encodeEntry } from '../../../src/registry/record-codec.ts'
import { toBvnRecord } from '../../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../../src/sources/sandbox/nin-record.ts'

const NIN = '12345678901'
const nin = { ...toNinRecord(NIN, '8031234567'), service_type: 'NIN' }
const bvn = { ...toBvnRecord('22345678901', '8031234567'), request_reference: null }

const CLEAN = { nin: createRowCleaner('nin'), bvn: createRowCleaner('bvn') }

/** The stored content of a row after the row cleaner, or undefined for a rejected row. */
function cleanRow(kind: Kind, given: unknown): string | undefined {
  try {
    const { record } = CLEAN[kind](given)
    return encodeEntry(kind, { record, mediaId: null }).toString()
  } catch {
    return undefined
  }
}

/** A reader takes half a megabyte. An import uses one for all its rows. */
const readers = new Map<string, ReturnType<typeof createFlatReader>>()

/** The stored content of a row after an example was learned. */
function readFlat(kind: Kind, example: string, text: string): string | undefined {
  const name = `${kind} ${example}`
  const reader = readers.get(name) ?? createFlatReader(kind, 'ndjson', [])
  if (!readers.has(name)) {
    reader.learn(example)
    readers.set(name, reader)
  }
  return reader.read(Buffer.from(text), 0)?.content.toString()
}

const SPELLINGS = ['', 'null', ' x', 'x ', '\u00a0x', 'Ìkẹjà', '****', 'x'.repeat(500), 'x'.repeat(501)]
const NOTHING = [
  'N/A',
  'n.a.',
  'NULL',
  'None...',
  'nil',
  '(null)',
  'not_available',
  'Undefined',
  '-',
  '—',
  '_'.repeat(40),
]
const NAMES = [
  'Ngozi',
  'Nil Nil',
  'Nulla',
  'No',
  'Uche',
  'Umar',
  'unknowns',
  'ｎｕｌｌ',
  'nuｌl',
  'NOT WATCHLISTED',
]
const DAYS = ['5/1/1990', '05-Jan-1990', 'Jan 5, 1990', '31-02-1990', '01-01-2999', '05-01-90']
const PHONES = ['+234 803 123 4567', '8031234567', '08031234567 / 08031234568', '12345', '0803-123-4567']
const SIGNS = ['a"b', 'a\\b', 'a\tb', 'a\u0085b', '{"a":"b"}', '","title":"', '😀']

/** The row with one value replaced, for each of its values. */
function* replaceEach(row: object, value: unknown): Generator<object> {
  for (const [name, inner] of Object.entries(row)) {
    yield { ...row, [name]: value }
    if (typeof inner !== 'object' || inner === null) continue
    for (const other of replaceEach(inner, value)) yield { ...row, [name]: other }
  }
}

describe.each([
  ['nin', nin],
  ['bvn', bvn],
] as const)('a flat %s row', (kind, row) => {
  const example = JSON.stringify(row)

  it('has the content that the row cleaner makes of it', () => {
    expect(readFlat(kind, example, example)).toBe(cleanRow(kind, row))
    const spaced = JSON.stringify(row, null, 1).replaceAll('\n', ' ')
    expect(readFlat(kind, spaced, spaced)).toBe(cleanRow(kind, row))
  })

  it('has it with any value, or is left to the row cleaner', () => {
    for (const value of [
      null,
      7,
      {},
      ['x'],
      ...SPELLINGS,
      ...NOTHING,
      ...NAMES,
      ...DAYS,
      ...PHONES,
      ...SIGNS,
    ])
      for (const given of replaceEach(row, value)) {
        const read = readFlat(kind, example, JSON.stringify(given))
        if (read !== undefined) expect([read, value]).toEqual([cleanRow(kind, given), value])
      }
  })

  it('is read when a value is empty, null or of another person', () => {
    for (const value of ['', null, 'Ìkẹjà', ...NOTHING, ...NAMES])
      for (const field of ['middle_name', 'full_name', 'marital_status']) {
        const given = { ...row, personal_info: { ...row.personal_info, [field]: value } }
        expect(readFlat(kind, example, JSON.stringify(given))).toBe(cleanRow(kind, given))
      }
  })

  it('is read with JSON escapes, also in the example', () => {
    const info = { ...row.personal_info, first_name: 'A"d\\é/😀', last_name: '\\"' }
    const given = { ...row, personal_info: info }
    const plain = JSON.stringify(given)
    const ascii = plain
      .replaceAll('/', '\\/')
      .replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    for (const text of [plain, ascii])
      for (const learned of [example, text]) expect(readFlat(kind, learned, text)).toBe(cleanRow(kind, given))
  })

  it('has the content that the row cleaner makes of it, with any texts', () => {
    const sign = fc.constantFrom(
      'a',
      ' ',
      '"',
      '\\',
      '\\u0041',
      ',',
      '\u00a0',
      '\u0080',
      '\u007f',
      'é',
      'ẹ',
      '😀',
      '\ud800',
    )
    const text = fc.option(fc.string({ unit: sign, maxLength: 6 }), { nil: null })
    const names = ['first_name', 'middle_name', 'last_name', 'full_name', 'marital_status'] as const
    const columns = readHeader(
      kind,
      [
        `${kind}_number`,
        'personal_info.phone_number',
        ...names.map((name) => `personal_info.${name}`),
      ].join(),
      'people.csv',
    )
    fc.assert(
      fc.property(fc.record(Object.fromEntries(names.map((name) => [name, text]))), (texts) => {
        const given = { ...row, personal_info: { ...row.personal_info, ...texts } }
        const read = readFlat(kind, example, JSON.stringify(given))
        if (read !== undefined) expect(read).toBe(cleanRow(kind, given))
        const line = [NIN, '08031234567', ...names.map((name) => texts[name] ?? '')]
          .map((cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
          .join()
        const bytes = Buffer.from(line)
        const fromCsv = createFlatReader(kind, 'csv', columns).read(bytes, 0)
        if (fromCsv)
          expect(fromCsv.content.toString()).toBe(cleanRow(kind, toGivenRow(columns, bytes.toString())))
      }),
      { numRuns: 500 },
    )
  })

  it('is read from CSV as from JSON', () => {
    const { personal_info: info } = row
    const names = [`${kind}_number`, ...Object.keys(info).map((name) => `personal_info.${name}`)]
    const columns = readHeader(kind, names.join(','), 'people.csv')
    const toLine = (address: string) =>
      [
        NIN,
        ...Object.entries(info).map(([name, value]) => (name === 'last_name' ? address : `"${value ?? ''}"`)),
      ].join()
    for (const [cell, isRead] of [
      ['Obi', true],
      ['"Obi, ""Ada"" \\"', true],
      ['', true],
      ['" Obi"', false],
      ['"Obi', false],
      ['Obi,Ada', false],
      ['"O\tbi"', false],
    ] as const) {
      const line = toLine(cell)
      const read = createFlatReader(kind, 'csv', columns).read(Buffer.from(line), 0)
      expect([cell, read !== undefined]).toEqual([cell, isRead])
      if (read) expect(read.content.toString()).toBe(cleanRow(kind, toGivenRow(columns, line)))
    }
  })
})

it('a row ends at its line end, and the next one begins there', () => {
  const example = JSON.stringify(nin)
  const reader = createFlatReader('nin', 'ndjson', [])
  reader.learn(example)
  const chunk = Buffer.from(`${example}\r\n${example}\n${example}`)
  const first = reader.read(chunk, 0)?.end ?? 0
  const second = reader.read(chunk, first)?.end ?? 0
  expect([first, second, reader.read(chunk, second)?.end]).toEqual([
    example.length + 2,
    2 * example.length + 3,
    chunk.length,
  ])
  expect(reader.read(Buffer.from(`${example}\r`), 0)).toBeUndefined()
})

describe('a row is left to the row cleaner', () => {
  const example = JSON.stringify(nin)

  it.each([
    ['before an example was learned', '', example],
    [
      'when its names are in another order',
      example,
      JSON.stringify({ service_type: 'NIN', ...toNinRecord(NIN, '8031234567') }),
    ],
    ['when more text follows', example, `${example}x`],
    [
      'when a name is given twice',
      example.replace('{', '{"document_no":"1",'),
      example.replace('{', '{"document_no":"1",'),
    ],
    [
      'when it has a picture',
      example.replace('{', '{"picture":"AA==",'),
      example.replace('{', '{"picture":"AA==",'),
    ],
    [
      'when a name has a dot',
      example.replace('{', '{"personal_info.title":"Dr",'),
      example.replace('{', '{"personal_info.title":"Dr",'),
    ],
    [
      'when a group is given twice',
      example.replace('{', '{"next_of_kin":{"lga":"a"},'),
      example.replace('{', '{"next_of_kin":{"lga":"a"},'),
    ],
  ])('%s', (_when, learned, text) => {
    expect(readFlat('nin', learned, text)).toBeUndefined()
  })
})
