import { expect, it } from 'vitest'
import { printReport, type Result, toReport } from './report.ts'

const result = (key: string, status: Result['status']): Result => ({
  key,
  status,
  room: 'keys',
  file: 'src/keys/a.ts',
  line: 1,
  operator: 'condition',
})

it('counts mutants that end a test or never end as noticed, and all others as survivors', () => {
  const results = [
    result('a', 'killed'),
    result('b', 'timeout'),
    result('c', 'survived'),
    result('d', 'unreached'),
  ]
  const report = toReport(results, [{ mutants: ['c'], reason: 'It is equivalent.' }], ['a', 'b', 'c', 'd'])
  expect(report).toMatchObject({ score: 50, mutants: 4, stale: [], rooms: [{ room: 'keys', score: 50 }] })
  expect(report.survivors.map(({ key, reason }) => [key, reason])).toEqual([
    ['c', 'It is equivalent.'],
    ['d', undefined],
  ])
  expect(printReport(report)).toContain('2 were not noticed; 1 of these are explained')
})

it('names entries of the list that no longer hold', () => {
  const explained = [{ mutants: ['gone', 'a'], reason: 'It is equivalent.' }]
  expect(toReport([{ ...result('a', 'killed'), by: 'a.test.ts' }], explained, ['a']).stale).toEqual([
    'no such mutant: gone',
    'killed by a.test.ts: a',
  ])
})

it('gives no score of nothing', () => {
  const printed = printReport(toReport([], [{ mutants: ['gone'], reason: 'It is equivalent.' }], []))
  expect(printed.split('\n')).toEqual([
    'No mutant was tried: nothing that was chosen has one.',
    'stale entry in survivors.json, no such mutant: gone',
  ])
})
