import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readHeader, toCells, toGivenRow } from '../../../src/registry/import/csv.ts'
import type { Read } from '../../../src/registry/import/input.ts'
import { cutChunks, type Format, MAX_ROW_BYTES, splitRows } from '../../../src/registry/import/rows.ts'

const HEADER = 'nin_number,personal_info.phone_number'

const split = (format: Format, text: string) =>
  [...splitRows(format, Buffer.from(text))].map(({ bytes, line }) => [line, bytes.toString()])

/** Reads in pieces of these sizes, as from a pipe. */
function toRead(bytes: Buffer, sizes: readonly number[] = []): Read {
  let at = 0
  let turn = 0
  return async (target) => {
    const size = Math.min(sizes[turn++ % sizes.length] ?? target.length, target.length)
    const piece = bytes.subarray(at, at + size)
    at += piece.length
    return piece.copy(target)
  }
}

describe('the cells of a row', () => {
  it.each([
    ['a,b,,c', ['a', 'b', '', 'c']],
    ['"a,b",c', ['a,b', 'c']],
    ['"say ""hi""","two\nlines",', ['say "hi"', 'two\nlines', '']],
    ['5" pipe,b', ['5" pipe', 'b']],
    ['""', ['']],
  ])('%j', (text, cells) => expect(toCells(text)).toEqual(cells))

  it('equal the quoted values, for any text', () => {
    const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (cells) => {
        expect(toCells(cells.map(quote).join(','))).toEqual(cells)
      }),
    )
  })

  it.each([
    ['"open,b', /not closed/],
    ['"a"b,c', /ends within a cell/],
  ])('are refused in %j', (text, reason) => expect(() => toCells(text)).toThrow(reason))
})

describe('the rows of a chunk', () => {
  it('end at line ends, with or without a carriage return', () => {
    expect(split('ndjson', 'a\r\nb\n\nc')).toEqual([
      [0, 'a'],
      [1, 'b'],
      [2, ''],
      [3, 'c'],
    ])
  })

  it('do not end within quotes, and all lines are counted', () => {
    expect(split('csv', 'a,"b\n\nb""\n",c\r\n"d\n",e\nf,5"\ng,"h')).toEqual([
      [0, 'a,"b\n\nb""\n",c'],
      [4, '"d\n",e'],
      [6, 'f,5"'],
      [7, 'g,"h'],
    ])
  })
})

describe('a header', () => {
  const read = (text: string) => readHeader('nin', text, 'people.csv')

  it('names fields by their path, in any order', () => {
    const columns = read('personal_info.phone_number, nin_number ,picture')
    expect(toGivenRow(columns, '0803,1,')).toEqual({
      nin_number: '1',
      personal_info: { phone_number: '0803' },
    })
  })

  it('is refused with its unknown names', () => {
    expect(() => read(`${HEADER},shoe_size,personal_info.hat`)).toThrow(
      'people.csv has unknown columns: shoe_size, personal_info.hat.',
    )
  })

  it('is refused with its duplicate names', () => {
    expect(() => read(`${HEADER},nin_number`)).toThrow('columns twice: nin_number')
  })

  it('is not repeated in the message when it may be personal data', () => {
    expect(() => read('12345678901,Adaeze')).toThrow(
      'The first line of people.csv must be a header with nin_number, personal_info.phone_number in it.',
    )
    const refusal =
      /^The first line of people.csv has names that are not columns and may be values\. Give the header [^0-9]*$/
    expect(() => read(`${HEADER},08031234567`)).toThrow(refusal)
    // The line ends of old spreadsheets: the header continues with the first person.
    expect(() => read(`${HEADER},personal_info.first_name\r12345678901,08031234567,Adaeze`)).toThrow(refusal)
  })

  it('has no picture for a BVN', () => {
    expect(() => readHeader('bvn', 'bvn_number,personal_info.phone_number,picture', 'x')).toThrow(
      'unknown columns: picture',
    )
  })

  it('determines the number of cells of a row', () => {
    expect(() => toGivenRow(read(HEADER), 'a,b,c')).toThrow('the row has 3 cells, the header has 2')
  })
})

describe('chunks', () => {
  it('contain whole rows and lose no bytes, for any size of reads', async () => {
    const row = fc.stringMatching(/^[a-z",\n]{0,30}$/)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<Format>('ndjson', 'csv'),
        fc.array(row),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        async (format, rows, sizes) => {
          const bytes = Buffer.from(rows.join('\n'))
          const parts: Buffer[] = []
          for await (const chunk of cutChunks(toRead(bytes, sizes), format, 7)) {
            parts.push(Buffer.from(chunk.bytes))
            expect(chunk.end).toBe(7 + Buffer.concat(parts).length)
          }
          expect(Buffer.concat(parts)).toEqual(bytes)
        },
      ),
    )
  })

  it.each<Format>(['ndjson', 'csv'])('skip a row that is too long, also in %s', async (format) => {
    const bytes = Buffer.concat([
      Buffer.from('a\n"'),
      Buffer.alloc(2 * MAX_ROW_BYTES, 0x78),
      Buffer.from('\nb\n'),
    ])
    const seen: unknown[] = []
    for await (const { bytes: held, end, skippedLines } of cutChunks(toRead(bytes), format, 0))
      seen.push([Buffer.from(held).toString(), end, skippedLines])
    expect(seen).toEqual([
      ['a\n', 2, undefined],
      ['', bytes.length - 2, 1],
      ['b\n', bytes.length, undefined],
    ])
  })
})
