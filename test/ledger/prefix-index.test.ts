import { describe, expect, it } from 'vitest'
import { createPrefixIndex } from '../../src/ledger/known-people.ts'

describe('createPrefixIndex', () => {
  it('finds each of many ids, and none under other prefixes', () => {
    const index = createPrefixIndex()
    const toPrefix = (id: number) => (id * 0x9e37_79b9_7f4a) % 2 ** 52
    for (let id = 1; id <= 5000; id++) index.add(toPrefix(id), id)
    for (let id = 1; id <= 5000; id++) expect(index.find(toPrefix(id))).toEqual([id])
    for (let id = 5001; id <= 10_000; id++) expect(index.find(toPrefix(id))).toEqual([])
  })

  it('finds all ids under equal prefixes, also prefix 0', () => {
    const index = createPrefixIndex()
    for (const id of [1, 2]) index.add(2 ** 52 - 1, id)
    for (const id of [3, 4]) index.add(0, id)
    expect(index.find(2 ** 52 - 1)).toEqual([1, 2])
    expect(index.find(0)).toEqual([3, 4])
  })
})
