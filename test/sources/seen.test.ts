import { describe, expect, it } from 'vitest'
import { queryInOrder, type Search, type SourceQuery } from '../../src/sources/failover.ts'
import { createSeen, type Seen } from '../../src/sources/seen.ts'
import { createSingleFlight } from '../../src/sources/single-flight.ts'
import { type Answer, SourceError } from '../../src/sources/source.ts'
import {
  answering,
  createGuard,
  createPermit,
  createSearch,
  failing,
  listAttempts,
  NOT_FOUND,
  PERSON,
  type Person,
  readCode,
} from './search-setup.ts'

const BLOCKED: Answer<Person> = { found: false, watchlisted: true }
const isOther = () => false
const searchNext = (seen: Seen, options: Partial<Search<Person>> = {}) =>
  createSearch({ continueOnNotFound: true, seen, ...options })

const UNUSABLE = ['names_differ', 'no_phone', 'unreadable_phone', 'mixed_phones'] as const

const unusable = (name: string, problem: (typeof UNUSABLE)[number]): SourceQuery<Person> =>
  problem === 'names_differ'
    ? answering(name, { found: false, namesDiffer: true })
    : {
        ...answering(name, PERSON),
        query: () => Promise.reject(new SourceError(name, 'bad_response', { problem })),
      }

/** What a search that failed has found out. */
async function see(sources: SourceQuery<Person>[], options: Partial<Search<Person>> = {}): Promise<Seen> {
  const seen = createSeen()
  expect(await readCode(queryInOrder(sources, searchNext(seen, options)))).toMatch(/^source_/)
  return seen
}

describe('what a search that failed has found out', () => {
  it('is who has no such person, and whose record has another phone', async () => {
    const missed = await see([answering('a', NOT_FOUND), failing('b', 'unreachable')])
    expect(missed).toEqual({ ...createSeen(), hasMiss: true, missedBy: ['a'] })
    const differs = await see([answering('a', PERSON), failing('b', 'unreachable')], { matches: isOther })
    expect(differs).toEqual({ ...createSeen(), hasMiss: true, hasRecord: true, missedBy: ['a'] })
  })

  it('is that the number is blocked, and who said it', async () => {
    const blocked = await see([answering('a', BLOCKED), failing('b', 'unreachable')])
    expect(blocked).toEqual({ ...createSeen(), hasMiss: true, isWatchlisted: true, missedBy: ['a'] })
  })

  it('is not that our own registry has no such person: asking it again costs nothing', async () => {
    const own: SourceQuery<Person> = { name: 'registry', query: async () => NOT_FOUND }
    expect((await see([own, failing('b', 'unreachable')])).missedBy).toEqual([])
  })

  it.each(UNUSABLE)('is who answered with %s', async (problem) => {
    const seen = await see([unusable('a', problem), failing('b', 'unreachable')])
    expect(seen).toEqual({
      ...createSeen(),
      // A record without a phone that can be read says nothing about the guess.
      hasMiss: problem === 'names_differ' || problem === 'mixed_phones',
      ...{ missedBy: ['a'], unusable: { source: 'a', problem } },
    })
  })

  it('is nothing about a source that failed', async () => {
    expect(await see([failing('a', 'timeout'), failing('b', 'unreachable')])).toEqual(createSeen())
  })

  it('includes the answer that a slow source gave later', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const slow = { name: 'a', guard: createGuard('a', { admit: createPermit(true) }), query: () => promise }
    const next = failing('b', 'refused')
    const answered = { ...next, query: () => next.query().finally(() => resolve(NOT_FOUND)) }
    expect((await see([slow, answered])).missedBy).toEqual(['a'])
  })
})

describe('the next search for the same verification', () => {
  it('does not pay who has no such person again, and ends as not found if the others have none', async () => {
    const search = searchNext({ ...createSeen(), hasMiss: true, missedBy: ['a'] })
    const answer = await queryInOrder([answering('a', PERSON), answering('b', NOT_FOUND)], search)
    expect(answer).toEqual({ found: false })
    expect(listAttempts(search)).toEqual(['b not_found'])
  })

  it('does not pay who has other names again, and is no "not found" if the others have none', async () => {
    const seen = () => ({
      ...createSeen(),
      ...{ hasMiss: true, missedBy: ['a'], unusable: { source: 'a', problem: 'names_differ' as const } },
    })
    const search = searchNext(seen())
    const none = queryInOrder([unusable('a', 'names_differ'), answering('b', NOT_FOUND)], search)
    expect(await readCode(none)).toBe('source_bad_response')
    expect(listAttempts(search)).toEqual(['b not_found'])
    const sources = [unusable('a', 'names_differ'), answering('b', PERSON)]
    expect(await queryInOrder(sources, searchNext(seen()))).toBe(PERSON)
    // It is asked again if no other is left: what it said before does not count then.
    expect(await queryInOrder([answering('a', NOT_FOUND)], searchNext(seen()))).toEqual({ found: false })
  })

  it('asks again if no other vendor is left, also beside our own registry', async () => {
    const seen = () => ({ ...createSeen(), hasMiss: true, missedBy: ['a'] })
    const own = { name: 'registry', query: async () => NOT_FOUND }
    expect(await queryInOrder([answering('a', PERSON)], searchNext(seen()))).toBe(PERSON)
    expect(await queryInOrder([own, answering('a', PERSON)], searchNext(seen()))).toBe(PERSON)
  })

  it('marks the record of a number that was blocked, and is no "not found" without one', async () => {
    const blocked = { ...createSeen(), hasMiss: true, isWatchlisted: true }
    const markWatchlisted = (record: Person) => ({ ...record, isMarked: true })
    const marked = await queryInOrder(
      [answering('b', PERSON)],
      searchNext({ ...blocked }, { markWatchlisted }),
    )
    expect(marked).toMatchObject({ record: { isMarked: true } })
    const none = queryInOrder([answering('b', NOT_FOUND)], searchNext({ ...blocked }))
    expect(await readCode(none)).toBe('source_unavailable')
  })

  it('is not joined by one that knows less, and tells who joins it what it found out', async () => {
    const { share } = createSingleFlight()
    const known = { ...createSeen(), hasMiss: true, missedBy: ['a'] }
    const sources = () => [answering('a', NOT_FOUND), failing('b', 'unreachable')]
    const searches = [searchNext({ ...known }), searchNext(createSeen()), searchNext(createSeen())]
    const codes = searches.map((search) => readCode(share(['nin', '1'], sources(), search)))
    expect(await Promise.all(codes)).toEqual(Array(3).fill('source_unavailable'))
    expect(searches.map(listAttempts)).toEqual([
      ['b unreachable'],
      ...Array(2).fill(['a not_found', 'b unreachable']),
    ])
    expect(searches.map(({ seen }) => seen)).toEqual(Array(3).fill(known))
  })
})
