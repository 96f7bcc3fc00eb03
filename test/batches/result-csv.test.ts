import { describe, expect, it } from 'vitest'
import type { ResultRow } from '../../src/batches/batch-results.ts'
import { createResultCsv, toResultType } from '../../src/batches/batch-results.ts'
import { toCells } from '../../src/registry/import/csv.ts'

const ROW: ResultRow = {
  line: 2,
  reference: '=1+1',
  operation: 'verify_nin',
  state: 'done',
  status: 200,
  success: true,
  code: null,
  message: 'NIN verification completed successfully',
  match: { first_name: 'exact', last_name: 'partial' },
  data: {
    request_reference: 'ver_1',
    nin_number: '12345678901',
    personal_info: { first_name: 'Ada "Ọ", x', last_name: '@SUM(A1)', image_url: '' },
  },
}

const read = (row: ResultRow) => {
  const csv = createResultCsv(['nin'])
  const [names, cells] = [csv.header, csv.toLine(row)].map((line) => toCells(line.replace(/\r\n$/, '')))
  return Object.fromEntries((names ?? []).map((name, index) => [name, cells?.[index]]))
}

describe('results as CSV', () => {
  it('have a column for each field, quoted where needed', () => {
    expect(read(ROW)).toMatchObject({
      line: '2',
      status: '200',
      code: '',
      request_reference: 'ver_1',
      nin_number: '12345678901',
      'personal_info.first_name': 'Ada "Ọ", x',
      'personal_info.religion': '',
      'match.first_name': 'exact',
      'match.last_name': 'partial',
      'match.date_of_birth': '',
    })
  })

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])('make no formula of %j', (reference) => {
    expect(read({ ...ROW, reference }).reference).toBe(`'${reference}`)
  })

  it('say all problems of a refused row in one cell', () => {
    const errors = [
      { field: 'nin', message: 'nin must be 11 digits' },
      { field: 'phone', message: 'phone is required' },
    ]
    expect(read({ ...ROW, state: 'refused', data: null, errors }).message).toBe(
      'nin must be 11 digits; phone is required',
    )
  })

  it('have the columns of both kinds once', () => {
    const names = createResultCsv(['nin', 'bvn']).header.trim().split(',')
    expect(new Set(names).size).toBe(names.length)
    expect(names).toEqual(
      expect.arrayContaining(['nin_number', 'bvn_number', 'next_of_kin.surname', 'watchlisted']),
    )
    expect(createResultCsv(['nin']).header).not.toContain('bvn_number')
  })
})

describe('the format of results', () => {
  it.each([
    [undefined, 'application/x-ndjson'],
    ['', 'application/x-ndjson'],
    ['*/*', 'application/x-ndjson'],
    ['text/csv', 'text/csv'],
    ['TEXT/CSV; charset=utf-8', 'text/csv'],
    ['text/*', 'text/csv'],
    ['text/csv;q=0.5, application/x-ndjson;q=0.4', 'text/csv'],
    ['text/csv;q=0.4, application/x-ndjson; q = 0.5', 'application/x-ndjson'],
    ['text/csv;q=0, */*', 'application/x-ndjson'],
    ['application/x-ndjson;q=0, */*;q=0.1', 'text/csv'],
    ['text/html', 'application/x-ndjson'],
    ['text/csv;q=none', 'application/x-ndjson'],
  ])('for Accept %j is %s', (accept, type) => expect(toResultType(accept)).toBe(type))
})
