import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { SourceQuery } from '../../src/sources/failover.ts'
import { queryInOrder } from '../../src/sources/failover.ts'
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
  type Settled,
} from './search-setup.ts'

describe('a slow source', () => {
  it('queries the next source while a probe is running', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const settled: Settled = []
    const permit = createPermit(true, settled)
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { admit: permit }),
      query: () => promise,
    }
    const search = createSearch()
    expect(await queryInOrder([slow, answering('b', PERSON)], search)).toBe(PERSON)
    expect(listAttempts(search)).toEqual(['a slow', 'b found'])
    resolve(NOT_FOUND)
    await expect.poll(() => settled).toEqual(['not_found'])
  })

  it('waits for a slow probe when no other source has an answer', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { admit: createPermit(true) }),
      query: () => promise,
    }
    const last: SourceQuery<Person> = {
      name: 'b',
      guard: createGuard('b'),
      query: async () => {
        resolve(PERSON)
        throw new SourceError('b', 'timeout')
      },
    }
    expect(await queryInOrder([slow, last], createSearch())).toBe(PERSON)
  })

  it('uses the late answer of a slow source while the next call is running', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { admit: createPermit(true) }),
      query: () => promise,
    }
    const hanging: SourceQuery<Person> = {
      name: 'b',
      guard: createGuard('b'),
      query: () => {
        resolve(PERSON)
        return new Promise(() => {})
      },
    }
    const { signal } = new AbortController()
    const search = createSearch({ signal })
    expect(await queryInOrder([slow, hanging], search)).toBe(PERSON)
    // The audit log must name the second source, because it was called.
    expect(listAttempts(search)).toEqual(['a slow', 'a found', 'b slow'])
  })

  it('does not query the next source when the late answer arrives before its permit', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { admit: createPermit(true) }),
      query: () => promise,
    }
    const settled: Settled = []
    const admit = async () => {
      resolve(PERSON)
      await nextTurn()
      return createPermit(false, settled)
    }
    let calls = 0
    const query = async () => {
      calls += 1
      return NOT_FOUND
    }
    const search = createSearch()
    const next: SourceQuery<Person> = { name: 'b', guard: { ...createGuard('b'), admit }, query }
    expect(await queryInOrder([slow, next], search)).toBe(PERSON)
    expect([calls, settled, listAttempts(search)]).toEqual([0, ['released'], ['a slow', 'a found']])
  })

  describe('that was never reached, behind which another failed', () => {
    const search3 = async (late: SourceError, isPaid: boolean) => {
      const failed = Promise.withResolvers<Answer<Person>>()
      const slow: SourceQuery<Person> = {
        name: 'a',
        guard: createGuard('a', { admit: createPermit(true) }),
        query: () => failed.promise,
      }
      const search = createSearch({ paid: { calls: 0 } })
      const next: SourceQuery<Person> = {
        name: 'b',
        guard: createGuard('b'),
        query: async () => {
          void nextTurn().then(() => failed.reject(late))
          throw new SourceError('b', 'bad_response')
        },
      }
      const result = await readCode(queryInOrder([slow, next, answering('c', PERSON)], search))
      expect(search.paid).toEqual({ calls: 2 })
      expect(listAttempts(search)).toEqual([
        ...['a slow', 'b bad_response', `a ${late.reason}`],
        ...(isPaid ? [] : ['c found']),
      ])
      return result
    }

    it('leaves its paid call to the third source', async () => {
      const options = { sent: false, problem: 'slow_connection' } as const
      expect(await search3(new SourceError('a', 'unreachable', options), false)).toBe(undefined)
    })

    it('keeps it if it may have been billed', async () => {
      expect(await search3(new SourceError('a', 'timeout', { sent: true }), true)).toBe('source_timeout')
    })
  })

  it.each([
    ['not found', NOT_FOUND],
    ['a record with another phone', { found: true, record: { phone: '2' } } as const],
  ])('does not end with %s while a slow source may have the record', async (_what, miss) => {
    const queryBoth = (end: (late: PromiseWithResolvers<Answer<Person>>) => void) => {
      const late = Promise.withResolvers<Answer<Person>>()
      const slow: SourceQuery<Person> = {
        name: 'a',
        guard: createGuard('a', { admit: createPermit(true) }),
        query: () => late.promise,
      }
      const answer = queryInOrder(
        [slow, answering('b', miss)],
        createSearch({ matches: ({ phone }) => phone === '1' }),
      )
      void nextTurn().then(() => end(late))
      return answer
    }
    expect(await queryBoth(({ resolve }) => resolve(PERSON))).toBe(PERSON)
    // When the slow source fails, the other answer counts.
    expect(await queryBoth(({ reject }) => reject(new SourceError('a', 'timeout')))).toBe(miss)
  })

  it('waits for the second paid query when a third is not allowed', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const slow: SourceQuery<Person> = {
      name: 'b',
      guard: createGuard('b', { admit: createPermit(true) }),
      query: async () => {
        setImmediate(() => resolve(PERSON))
        return promise
      },
    }
    const search = createSearch()
    expect(await queryInOrder([failing('a', 'timeout'), slow, answering('c', PERSON)], search)).toBe(PERSON)
    expect(listAttempts(search)).toEqual(['a timeout', 'b found'])
  })

  it('waits for a source that seems to hang when no other is available', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const hangs: string[] = []
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { admit: { ...createPermit(true), recordHang: () => void hangs.push('a') } }),
      query: async () => {
        setImmediate(() => resolve(PERSON))
        return promise
      },
    }
    const disabled = { ...createGuard('b', { admit: 'disabled' }), isAvailable: () => false }
    const search = createSearch()
    expect(
      await queryInOrder([slow, { name: 'b', guard: disabled, query: async () => PERSON }], search),
    ).toBe(PERSON)
    expect(listAttempts(search)).toEqual(['a found'])
    expect(hangs).toEqual([])
  })

  it('uses the slow probe that answers first, not the one that was called first', async () => {
    const hanging: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { admit: createPermit(true) }),
      query: () => new Promise(() => {}),
    }
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const answered: SourceQuery<Person> = {
      name: 'b',
      guard: createGuard('b', { admit: createPermit(true) }),
      query: () => promise,
    }
    const local: SourceQuery<Person> = {
      name: 'c',
      query: async () => {
        setImmediate(() => resolve(PERSON))
        throw new SourceError('c', 'unreachable')
      },
    }
    // No deadline: only the late answer can end this search.
    const { signal } = new AbortController()
    expect(await queryInOrder([hanging, answered, local], createSearch({ signal }))).toBe(PERSON)
  })
})
