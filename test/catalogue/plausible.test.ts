import { describe, expect, it } from 'vitest'
import { listDoubts } from '../../src/catalogue/diff.ts'
import type { CatalogueFiles } from '../../src/contract/bundles.ts'

const list = (prices: readonly (number | string)[], first = 0): CatalogueFiles => ({
  internet: [
    {
      as_of: '2026-11-15',
      segment: 'smile',
      type: 'SMILE',
      bundles: prices.map((price, index) => ({
        code: `c${first + index}`,
        price: String(price),
        description: 'x',
        duration: '',
      })),
    },
  ],
  tv: [],
})
const EIGHT = [100, 200, 300, 400, 500, 600, 700, 800]
const times = (factor: number) => list(EIGHT.map((price) => price * factor))

describe('prices', () => {
  it.each([1000, 0.001, 10, 0.1, 2.01, 0.49, 1.51, 0.66, 0])('times %d need a review', (factor) =>
    expect(listDoubts(list(EIGHT), times(factor))).not.toEqual([]),
  )
  it.each([1, 1.1, 1.25, 1.5, 0.67])('times %d need no review', (factor) =>
    expect(listDoubts(list(EIGHT), times(factor))).toEqual([]),
  )

  it('of one item may double or halve at most', () => {
    const change = (price: number) => listDoubts(list(EIGHT), list([price, ...EIGHT.slice(1)]))
    expect([change(200), change(50)]).toEqual([[], []])
    expect(change(201)).toEqual([
      'In the list smile, prices would more than double or halve: c0 from 100 to 201.',
    ])
    expect(change(49)).toHaveLength(1)
  })

  it('are named for three items at most', () => {
    expect(listDoubts(list(EIGHT), times(1000))).toEqual([
      'In the list smile, prices would more than double or halve: c0 from 100 to 100000, c1 from 200 to 200000, c2 from 300 to 300000 and 5 more.',
      'The prices of the list smile would be 1000 times what they are.',
    ])
  })
})

describe('codes', () => {
  it('need a review when exactly half are lost', () => {
    expect(listDoubts(list(EIGHT), list(EIGHT.slice(0, 4)))).toEqual([
      'The list smile would lose 4 of its 8 codes.',
    ])
    expect(listDoubts(list(EIGHT), list(EIGHT.slice(0, 5)))).toEqual([])
  })

  it('need a review when very many are added', () => {
    const grown = (count: number) => list([...EIGHT, ...Array.from({ length: count }, () => 100)])
    expect(listDoubts(list(EIGHT), grown(10))).toEqual([])
    expect(listDoubts(list(EIGHT), grown(11))).toEqual(['The list smile has 8 codes and would get 11 more.'])
  })

  it('need a review when a list becomes empty, or all codes change', () => {
    expect(listDoubts(list(EIGHT), list([]))).toEqual(['The list smile would be empty.'])
    expect(listDoubts(list(EIGHT), list(EIGHT, 50))).toEqual(['The list smile would lose 8 of its 8 codes.'])
  })
})
