import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type BatchFormat,
  MAX_BYTES,
  MAX_ROW_BYTES,
  MAX_ROWS,
  readRows,
} from '../../src/batches/read-rows.ts'
import { AppError } from '../../src/errors.ts'

/** The input in pieces of this size, so that every border is met. */
async function* toPieces(input: string | Buffer, size = 7): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(input)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const read = (format: BatchFormat, input: string | Buffer, size?: number) =>
  Array.fromAsync(readRows(format, toPieces(input, size)))

const failure = (format: BatchFormat, input: string | Buffer, size?: number) =>
  read(format, input, size).then(
    () => undefined,
    (error: unknown) => (error instanceof AppError ? [error.code, error.errors ?? {}] : error),
  )

const PEOPLE = [
  { operation: 'verify_nin', nin: '12345678901', phone: '08031234567', reference: 'Ọlá 😀' },
  { operation: 'verify_bvn', bvn: '22345678901', phone: '08031234568', amount: '1', reference: 'b"\\]},' },
]
const PIECE_SIZES = [1, 2, 3, 5, 64, 100_000]

describe('NDJSON', () => {
  it.each(PIECE_SIZES)('reads rows from pieces of %i bytes, across multi-byte characters', async (size) => {
    const text = `\uFEFF${JSON.stringify(PEOPLE[0])}\r\n\n\r\r\n \n\r\n${JSON.stringify(PEOPLE[1])}`
    expect(await read('ndjson', text, size)).toEqual([
      { line: 1, fields: PEOPLE[0] },
      { line: 6, fields: PEOPLE[1] },
    ])
  })

  it('refuses a bad row alone, and quotes nothing of it', async () => {
    const bad = Buffer.concat([Buffer.from('{"a":1}\n{"nin":12345678901\n[1]\n"x"\n\xff\n', 'latin1')])
    expect(await read('ndjson', bad)).toEqual([
      { line: 1, fields: { a: 1 } },
      { line: 2, problem: 'The row is not valid JSON.' },
      { line: 3, problem: 'The row must be a JSON object.' },
      { line: 4, problem: 'The row must be a JSON object.' },
      { line: 5, problem: 'The row is not UTF-8 text.' },
    ])
  })

  it.each([100, 4096, 1_000_000])('skips a row that is too long, in pieces of %i bytes', async (size) => {
    const rows = `{"a":1}\n{"a":"${'x'.repeat(MAX_ROW_BYTES * 3)}"}\n{"a":2}\n`
    expect(await read('ndjson', rows, size)).toEqual([
      { line: 1, fields: { a: 1 } },
      { line: 2, problem: 'The row is longer than 16 KiB.' },
      { line: 3, fields: { a: 2 } },
    ])
  })

  it('has no rows in an empty input', async () => {
    for (const text of ['', '\uFEFF', '\n\n', ' \r\n']) expect(await read('ndjson', text)).toEqual([])
  })
})

describe('a JSON array', () => {
  it.each(PIECE_SIZES)('is read from pieces of %i bytes, each row by its position', async (size) => {
    expect(await read('json', ` ${JSON.stringify(PEOPLE, null, 2)}\n`, size)).toEqual([
      { line: 1, fields: PEOPLE[0] },
      { line: 2, fields: PEOPLE[1] },
    ])
  })

  it('equals what JSON.parse reads, for any objects in any pieces', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.string(), fc.json())),
        fc.integer({ min: 1, max: 50 }),
        async (list, size) => {
          const rows = await read('json', JSON.stringify(list), size)
          expect(JSON.stringify(rows)).toBe(
            JSON.stringify(list.map((fields, index) => ({ line: index + 1, fields }))),
          )
        },
      ),
    ))

  it('refuses an element that is no row alone', async () => {
    expect(await read('json', `[1,{bad},{"a":"${'x'.repeat(MAX_ROW_BYTES)}"},{"a":2}]`)).toEqual([
      { line: 1, problem: 'The row must be a JSON object.' },
      { line: 2, problem: 'The row is not valid JSON.' },
      { line: 3, problem: 'The row is longer than 16 KiB.' },
      { line: 4, fields: { a: 2 } },
    ])
  })

  it.each(['[', '[{}', '[{},', '[{},]', '[,{}]', '[{}]x', '[{"a":"', '[{}{}'])(
    'is refused as a whole: %j',
    async (text) => {
      expect(await failure('json', text)).toEqual(['malformed_json', {}])
    },
  )

  it('must be an array', async () => {
    expect(await failure('json', '{"a":1}')).toEqual([
      'validation_failed',
      {
        body: [
          'body must be a JSON array of rows. To send one object on each line, use application/x-ndjson.',
        ],
      },
    ])
    expect(await read('json', '[]')).toEqual([])
  })
})

describe('CSV', () => {
  it.each(PIECE_SIZES)('is read from pieces of %i bytes', async (size) => {
    const text =
      '\uFEFF Operation ,nin,phone,reference,other\r\nverify_nin,12345678901,08031234567,"Ọlá ""x"",\r\n2",z\r\n\r\n,,,,\r\nverify_nin,,08031234567, ,'
    expect(await read('csv', text, size)).toEqual([
      {
        line: 2,
        fields: {
          operation: 'verify_nin',
          nin: '12345678901',
          phone: '08031234567',
          reference: 'Ọlá "x",\r\n2',
          other: 'z',
        },
      },
      { line: 6, fields: { operation: 'verify_nin', phone: '08031234567' } },
    ])
  })

  it.each([1, 50, 1_000_000])(
    'refuses only the line of a quote that is not closed, in pieces of %i bytes',
    async (size) => {
      const text = 'nin,phone\n"1,2\n3,4\n5,6\n'
      const [first, ...rest] = await read('csv', text, size)
      expect(first).toEqual({ line: 2, problem: 'The row cannot be read: a quote is not closed.' })
      expect(rest).toEqual([
        { line: 3, fields: { nin: '3', phone: '4' } },
        { line: 4, fields: { nin: '5', phone: '6' } },
      ])
    },
  )

  it.each([100, 1_000_000])(
    'goes on after an open quote in a long input, in pieces of %i bytes',
    async (size) => {
      const others = Array.from({ length: 5000 }, (_, index) => `${index},x`).join('\n')
      const rows = await read('csv', `nin,phone\n"1,2\n${others}\n`, size)
      expect(rows).toHaveLength(5001)
      expect(rows[0]).toEqual({ line: 2, problem: 'The row cannot be read: a quote is not closed.' })
      expect(rows.at(-1)).toEqual({ line: 5002, fields: { nin: '4999', phone: 'x' } })
    },
  )

  it('refuses rows with too few or too many cells, too long ones and other encodings', async () => {
    const text = Buffer.concat([
      Buffer.from(`nin,phone\n1\n1,2,3\n${'x'.repeat(MAX_ROW_BYTES + 1)},2\n`),
      Buffer.from([0xff, 0x2c, 0x31, 0x0a]),
      Buffer.from('7,8'),
    ])
    expect(await read('csv', text, 1000)).toEqual([
      { line: 2, problem: 'The row has 1 cells, the header has 2.' },
      { line: 3, problem: 'The row has 3 cells, the header has 2.' },
      { line: 4, problem: 'The row is longer than 16 KiB.' },
      { line: 5, problem: 'The row is not UTF-8 text.' },
      { line: 6, fields: { nin: '7', phone: '8' } },
    ])
  })

  it.each(['12345678901,08031234567\n', 'nin;phone\n1;2', '"nin\n'])('needs a header: %j', async (text) => {
    const [code, errors] = (await failure('csv', text)) as [string, { header: string[] }]
    expect(code).toBe('validation_failed')
    expect(errors.header[0]).toContain('header must be the first line')
    expect(JSON.stringify(errors)).not.toContain('12345678901')
  })

  it('refuses a column that is there twice', async () => {
    expect(await failure('csv', 'nin,phone,NIN\n')).toEqual([
      'validation_failed',
      { header: ['header has the column nin twice'] },
    ])
    expect(await read('csv', 'nin,x,x\n1,2,3')).toEqual([{ line: 2, fields: { nin: '1', x: '3' } }])
  })
})

describe('a long file', () => {
  const ROWS = Array.from({ length: 6000 }, (_row, index) => ({
    nin: String(20_000_000_000 + index),
    phone: '08031234567',
  }))
  const TEXTS: readonly (readonly [BatchFormat, string])[] = [
    ['csv', `nin,phone\n${ROWS.map(({ nin, phone }) => `${nin},${phone}`).join('\n')}\n`],
    ['ndjson', ROWS.map((row) => `${JSON.stringify(row)}\n`).join('')],
    ['json', JSON.stringify(ROWS)],
  ]

  it.each(TEXTS)('of %s has the same rows in pieces of any size', (format, text) =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1000, max: 100_000 }), async (size) => {
        const rows = await read(format, text, size)
        expect(rows.filter((row) => 'problem' in row)).toEqual([])
        expect(rows.map((row) => 'fields' in row && row.fields)).toEqual(ROWS)
      }),
      { numRuns: 20, examples: [[65_536], [16_385]] },
    ),
  )
})

describe('the bounds of a batch', () => {
  it('are so many rows', async () => {
    const rows = '{}\n'.repeat(MAX_ROWS)
    expect(await read('ndjson', rows, 65_536)).toHaveLength(MAX_ROWS)
    expect(await failure('ndjson', `${rows}{}`, 65_536)).toEqual(['batch_too_large', {}])
  })

  it('are so many bytes', async () => {
    const padding = Buffer.alloc(MAX_BYTES - 2, ' ')
    expect(await read('ndjson', Buffer.concat([padding, Buffer.from('{}')]), 65_536)).toHaveLength(1)
    expect(await failure('ndjson', Buffer.concat([padding, Buffer.from('{} ')]), 65_536)).toEqual([
      'batch_too_large',
      {},
    ])
  })
})
