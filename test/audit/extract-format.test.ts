import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  CSV_HEADER,
  type ExtractRecord,
  parseCsvLine,
  readCsvHeader,
  toCsvLine,
  toJsonLine,
} from '../../src/audit/extract/extract-format.ts'

const COLUMNS = CSV_HEADER.trimEnd().split(',')
const toRecord = (change: object) => ({ record: 'row', ...change }) as unknown as ExtractRecord
const cellsOf = (change: object) => toCsvLine(toRecord(change))
const read = (line: string) => parseCsvLine(line)

describe('a line of an extract', () => {
  it('has a cell for each column, empty where there is no value', () => {
    expect(CSV_HEADER).toBe(
      'record,time,phase,request_reference,key_name,key_id,mode,operation,outcome,sources,released,consent_reference,purpose,amount,detail,started_at,subject,chain,sequence,fields_released,format,previous_hash,hash,checkpoint,path,body,signature\r\n',
    )
    expect(cellsOf({ time: 'T', sequence: 7, detail: null })).toBe(
      `row,T${','.repeat(17)}7${','.repeat(8)}\r\n`,
    )
    expect(toJsonLine(toRecord({ sequence: 7 }))).toBe('{"record":"row","sequence":7}\n')
  })

  it.each([
    ['plain', 'plain'],
    ['', '""'],
    ['a,b', '"a,b"'],
    ['a"b', '"a""b"'],
    ['a\nb', '"a\nb"'],
    ['a\rb', '"a\rb"'],
    // A spreadsheet would run these.
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@x', "'@x"],
    ['\tx', "'\tx"],
    ['\nx', '"\'\nx"'],
    ['＝1', "'＝1"],
    ["'x", "''x"],
    ['x=1', 'x=1'],
  ])('writes %j as %s, and reads it back', (text, cell) => {
    const line = cellsOf({ detail: text })
    expect(line).toBe(`row${','.repeat(14)}${cell}${','.repeat(12)}\r\n`)
    expect(read(line)).toMatchObject({ record: 'row', detail: text, amount: null })
  })

  it('is read back as it was, whatever it holds', () => {
    const text = fc.option(
      fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', "'", '=', ' ', 'ọ') }),
    )
    fc.assert(
      fc.property(text, text, fc.option(fc.nat()), (detail, time, sequence) => {
        const record = Object.fromEntries(COLUMNS.map((name) => [name, null]))
        const whole = { ...record, record: 'row', detail, time, sequence }
        expect(read(toCsvLine(whole as never))).toEqual(whole)
      }),
    )
  })

  it('has numbers where they are numbers', () => {
    expect(read(cellsOf({ sequence: 5, format: 2, checkpoint: 1, key_id: '0012' }))).toMatchObject({
      ...{ sequence: 5, format: 2, checkpoint: 1, key_id: '0012' },
    })
  })

  it.each([
    ['', 'no line'],
    ['row\r\n', 'too few cells'],
    [`row${','.repeat(27)}\r\n`, 'too many cells'],
    [`row${','.repeat(26)}\n`, 'another end of the line'],
    [`"row"${','.repeat(26)}\r\n`, 'quotes that are not needed'],
    [`row,=1${','.repeat(25)}\r\n`, 'a formula'],
    [`row,"a"b${','.repeat(25)}\r\n`, 'text after a quote'],
    [`row,"a${','.repeat(25)}\r\n`, 'an open quote'],
    [`row${','.repeat(18)}007${','.repeat(8)}\r\n`, 'a number with zeros before it'],
  ])('%j is refused: %s', (line) => expect(read(line)).toBeUndefined())
})

it('the first line names the columns, of this version or of 0.3', () => {
  expect(readCsvHeader(CSV_HEADER)).toEqual(COLUMNS)
  const old = readCsvHeader(CSV_HEADER.replace('purpose,', ''))
  expect(old).toEqual(COLUMNS.filter((name) => name !== 'purpose'))
  expect(parseCsvLine(`row${','.repeat(25)}\r\n`, old)).toMatchObject({ record: 'row' })
  for (const line of [undefined, '', CSV_HEADER.trimEnd(), CSV_HEADER.replace('time,', '')])
    expect(readCsvHeader(line)).toBeUndefined()
})
