import { describe, expect, it } from 'vitest'
import type { Search } from '../../src/sources/failover.ts'
import { queryInOrder } from '../../src/sources/failover.ts'
import type { Answer } from '../../src/sources/source.ts'
import {
  answering,
  createPermit,
  createSearch,
  failing,
  listAttempts,
  NOT_FOUND,
  PERSON,
  type Person,
  readCode,
  type Settled,
} from './search-setup.ts'

describe('with continueOnNotFound', () => {
  const next = (options: Partial<Search<Person>> = {}) =>
    createSearch({ continueOnNotFound: true, ...options })

  it('finds a record that the first source does not have', async () => {
    expect(await queryInOrder([answering('a', NOT_FOUND), answering('b', PERSON)], next())).toBe(PERSON)
  })

  it('continues after a record with another phone, as after not found', async () => {
    const search = next({ matches: ({ phone }) => phone === '2' })
    const other: Answer<Person> = { found: true, record: { phone: '2' } }
    expect(await queryInOrder([answering('a', PERSON), answering('b', other)], search)).toBe(other)
  })

  it('returns not found only when every source answered', async () => {
    expect(await queryInOrder([answering('a', NOT_FOUND), answering('b', NOT_FOUND)], next())).toEqual(
      NOT_FOUND,
    )
    const work = queryInOrder([answering('a', NOT_FOUND), failing('b', 'timeout')], next())
    expect(await readCode(work)).toBe('source_timeout')
  })

  it.each(['breaker_open', 'spend_cap'] as const)(
    'does not answer not found when another source was skipped: %s',
    async (admit) => {
      const skipped = answering('b', PERSON, { admit })
      for (const queries of [
        [answering('a', NOT_FOUND), skipped],
        [skipped, answering('a', NOT_FOUND)],
      ])
        expect(await readCode(queryInOrder(queries, next()))).toBe('source_unavailable')
    },
  )

  it('ignores a source that the operator has disabled', async () => {
    const disabled = answering('b', PERSON, { admit: 'disabled' })
    expect(await queryInOrder([answering('a', NOT_FOUND), disabled], next())).toEqual(NOT_FOUND)
  })

  it('reports a timeout when the deadline passed before the next query', async () => {
    const caller = new AbortController()
    const first = answering('a', NOT_FOUND, {
      admit: { ...createPermit(false), settle: () => caller.abort() },
    })
    const work = queryInOrder([first, answering('b', PERSON)], next({ signal: caller.signal }))
    expect(await readCode(work)).toBe('source_timeout')
  })
})

describe('a number that a source reports as watch-listed', () => {
  const FLAGGED: Answer<Person> = { found: false, watchlisted: true }
  const marked = (options: Partial<Search<Person>> = {}) =>
    createSearch({ markWatchlisted: (record) => ({ ...record, marked: true }), ...options })

  it.each([false, true])(
    'continues to the record of the next source, which is marked (continueOnNotFound %s)',
    async (continueOnNotFound) => {
      const search = marked({ continueOnNotFound })
      const queries = [answering('a', FLAGGED), answering('b', PERSON)]
      expect(await queryInOrder(queries, search)).toEqual({
        found: true,
        record: { phone: '1', marked: true },
      })
      expect(listAttempts(search)).toEqual(['a watchlisted', 'b found'])
    },
  )

  it.each([
    ['alone', []],
    ['before one that has no record', [answering('b', NOT_FOUND)]],
    ['before one that fails', [failing('b', 'bad_response')]],
    ['before one that the guard refuses', [answering('b', PERSON, { admit: 'disabled' })]],
  ])('is a failure of the sources %s, never "not found"', async (_where, others) => {
    for (const continueOnNotFound of [false, true])
      expect(
        await readCode(queryInOrder([answering('a', FLAGGED), ...others], marked({ continueOnNotFound }))),
      ).toBe('source_unavailable')
  })

  it('counts as an answer for the breaker, and as a paid call', async () => {
    const settled: Settled = []
    const search = marked()
    const queries = [answering('a', FLAGGED, { settled }), failing('b', 'timeout'), answering('c', PERSON)]
    expect(await readCode(queryInOrder(queries, search))).toBe('source_unavailable')
    expect(settled).toEqual(['found'])
    expect(listAttempts(search)).toEqual(['a watchlisted', 'b timeout'])
  })
})
