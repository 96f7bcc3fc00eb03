import { describe, expect, it } from 'vitest'
import { queryInOrder, type SourceQuery } from '../../src/sources/failover.ts'
import type { Permit } from '../../src/sources/guard/call-guard.ts'
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

/** A source that answers when it is told to. It is slow at once, and notes whether the search asked for that. */
function slowSource(name: string) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer<Person>>()
  const seen = { hedges: 0, hangs: 0 }
  const permit: Permit = {
    ...createPermit(true),
    hedgeAfterMs: () => {
      seen.hedges += 1
      return 0
    },
    recordHang: () => {
      seen.hangs += 1
    },
  }
  const query: SourceQuery<Person> = {
    name,
    guard: createGuard(name, { admit: permit }),
    query: () => promise,
  }
  return { query, seen, resolve, reject }
}

/** A source of our own: it has no guard, and costs nothing. */
const local = (name: string, answer: Answer<Person>): SourceQuery<Person> => ({
  name,
  query: async () => answer,
})

const turns = async (count = 5) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a slow source is waited for, and no hang is counted against it', () => {
  const waitFor = async (before: SourceQuery<Person>[], after: SourceQuery<Person>[]) => {
    const slow = slowSource('slow')
    const search = createSearch()
    const answer = queryInOrder([...before, slow.query, ...after], search)
    await turns()
    slow.resolve(PERSON)
    expect(await answer).toBe(PERSON)
    expect(slow.seen).toEqual({ hedges: 0, hangs: 0 })
    return listAttempts(search)
  }

  it('when it is the only one', async () => {
    expect(await waitFor([], [])).toEqual(['slow found'])
  })

  it('when it is the last one', async () => {
    expect(await waitFor([failing('a', 'refused')], [])).toEqual(['a refused', 'slow found'])
  })

  it('when it is the second that is paid for, so that no third may be', async () => {
    const third = answering('c', PERSON)
    expect(await waitFor([failing('a', 'timeout')], [third])).toEqual(['a timeout', 'slow found'])
  })

  it('when no other is available', async () => {
    const guard = { ...createGuard('c', { admit: 'breaker_open' }), isAvailable: () => false }
    expect(await waitFor([], [{ name: 'c', guard, query: async () => PERSON }])).toEqual(['slow found'])
  })
})

describe('while a source is slow, another one is asked', () => {
  it('that is available, also after one that is not', async () => {
    const slow = slowSource('slow')
    const guard = { ...createGuard('b', { admit: 'breaker_open' }), isAvailable: () => false }
    const search = createSearch()
    const queries = [slow.query, { name: 'b', guard, query: async () => PERSON }, answering('c', PERSON)]
    const begunAt = performance.now()
    expect(await queryInOrder(queries, search)).toBe(PERSON)
    expect(search.sourceAttempts[0]?.ms).toBeLessThanOrEqual(Math.ceil(performance.now() - begunAt))
    expect(listAttempts(search)).toEqual(['slow slow', 'b breaker_open', 'c found'])
    expect(slow.seen.hangs).toBe(1)
  })

  it('that costs nothing, although two are paid for', async () => {
    const slow = slowSource('slow')
    const search = createSearch()
    const queries = [failing('a', 'timeout'), slow.query, local('own', PERSON)]
    expect(await queryInOrder(queries, search)).toBe(PERSON)
    expect(listAttempts(search)).toEqual(['a timeout', 'slow slow', 'own found'])
  })

  it('and both are paid for: no third one is', async () => {
    const slow = slowSource('slow')
    const paid = { calls: 0 }
    const search = createSearch({ paid })
    const answer = queryInOrder([slow.query, failing('b', 'timeout'), answering('c', PERSON)], search)
    await expect.poll(() => listAttempts(search)).toContain('b timeout')
    slow.resolve(NOT_FOUND)
    expect(await answer).toEqual(NOT_FOUND)
    expect(listAttempts(search)).toEqual(['slow slow', 'b timeout', 'slow not_found'])
    expect(paid.calls).toBe(2)
  })
})

describe('an answer that does not verify, while a slow source may have the record,', () => {
  const OTHER: Answer<Person> = { found: true, record: { phone: '2' } }
  const matches = ({ phone }: Person) => phone === '1'

  /** Asks a slow source and then these, and lets the slow one end after they have answered. */
  const end = async (
    others: SourceQuery<Person>[],
    finish: (slow: ReturnType<typeof slowSource>) => void,
  ) => {
    const slow = slowSource('slow')
    const search = createSearch({ matches, markWatchlisted: () => ({ phone: 'marked' }) })
    const answer = queryInOrder([slow.query, ...others], search)
    await expect.poll(() => listAttempts(search)).toHaveLength(1 + others.length)
    finish(slow)
    return answer
  }
  const fails = ({ reject }: ReturnType<typeof slowSource>) => reject(new SourceError('slow', 'timeout'))

  it.each([
    ['not found', NOT_FOUND],
    ['another phone', OTHER],
  ])('is not given before that one has ended: %s', async (_, answer) => {
    const next = answering('b', answer)
    expect(await end([next], ({ resolve }) => resolve(PERSON))).toBe(PERSON)
    expect(await end([next], fails)).toBe(answer)
  })

  it('is given with the mark of the watch list, when a source between them has called the number blocked', async () => {
    const blocked = answering('b', { found: false, watchlisted: true })
    expect(await end([blocked, local('own', OTHER)], fails)).toEqual({
      found: true,
      record: { phone: 'marked' },
    })
    expect(await end([blocked, local('own', PERSON)], fails)).toEqual({
      found: true,
      record: { phone: 'marked' },
    })
  })
})

describe('a record', () => {
  it('has no mark of the watch list, unless a source called the number blocked', async () => {
    const search = createSearch({ markWatchlisted: () => ({ phone: 'marked' }) })
    expect(await queryInOrder([answering('a', PERSON)], search)).toBe(PERSON)
    const blocked = answering('a', { found: false, watchlisted: true })
    expect(await queryInOrder([blocked, answering('b', PERSON)], createSearch())).toBe(PERSON)
  })

  it('that is found nowhere is no "not found", when a source called the number blocked', async () => {
    const blocked = answering('a', { found: false, watchlisted: true })
    const search = createSearch({ markWatchlisted: (record) => record })
    expect(await readCode(queryInOrder([blocked, answering('b', NOT_FOUND)], search))).toBe(
      'source_unavailable',
    )
  })

  it('of our own is not paid for, and one of a vendor is', async () => {
    const paid = { calls: 0 }
    const search = createSearch({ paid, continueOnNotFound: true })
    await queryInOrder([local('own', NOT_FOUND), answering('b', NOT_FOUND)], search)
    expect(paid.calls).toBe(1)
  })
})

describe('when the time is over', () => {
  it('no source is admitted, paid for or begun', async () => {
    const asked: string[] = []
    const guard = {
      ...createGuard('a'),
      admit: async () => {
        asked.push('admit')
        return createPermit(false)
      },
    }
    const begin = async () => void asked.push('begin')
    for (const query of [{ name: 'a', guard, query: async () => PERSON }, local('own', PERSON)]) {
      const search = createSearch({ signal: AbortSignal.abort(), begin })
      expect(await readCode(queryInOrder([query], search))).toBe('source_timeout')
    }
    expect(asked).toEqual([])
  })

  it('a permit that comes later is released, and an error of the store that comes later is not unhandled', async () => {
    const end = new AbortController()
    const settled: Settled = []
    const late = Promise.withResolvers<Permit>()
    const query = answering('a', PERSON, { admit: late.promise })
    const answer = readCode(queryInOrder([query], createSearch({ signal: end.signal })))
    end.abort()
    expect(await answer).toBe('source_timeout')
    late.resolve(createPermit(false, settled))
    await turns()
    expect(settled).toEqual(['released'])
  })

  it('the answer that a source has given before counts, and "not found" does not when one was not asked', async () => {
    const end = new AbortController()
    const first: SourceQuery<Person> = {
      name: 'a',
      query: async () => {
        end.abort()
        return NOT_FOUND
      },
    }
    const search = createSearch({ signal: end.signal, continueOnNotFound: true })
    expect(await readCode(queryInOrder([first, answering('b', PERSON)], search))).toBe('source_timeout')
    expect(listAttempts(search)).toEqual(['a not_found'])
  })
})

describe('each attempt', () => {
  const createTrace = () => {
    const spans: string[] = []
    const startAttempt = (name: string, isOutside: boolean) => ({
      traceparent: `parent-of-${name}`,
      end: (result: string) => void spans.push(`${name} ${isOutside ? 'outside' : 'own'} ${result}`),
    })
    return { spans, trace: { startAttempt } as never }
  }

  it('is traced with its result, whether it was made, skipped or failed', async () => {
    const { spans, trace } = createTrace()
    const parents: (string | undefined)[] = []
    const last: SourceQuery<Person> = {
      name: 'd',
      query: async (traceparent) => {
        parents.push(traceparent)
        return PERSON
      },
    }
    const skipped = answering('b', PERSON, { admit: 'spend_cap' })
    await queryInOrder([failing('a', 'refused'), skipped, last], createSearch({ trace }))
    expect(spans).toEqual(['a outside refused', 'b outside spend_cap', 'd own found'])
    expect(parents).toEqual(['parent-of-d'])
  })

  it('that shows a defect of ours ends the search with that defect, is written down and counts against the source', async () => {
    const { spans, trace } = createTrace()
    const settled: Settled = []
    const broken: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { settled }),
      query: async () => {
        throw new TypeError('a defect')
      },
    }
    const search = createSearch({ trace })
    await expect(queryInOrder([broken, answering('b', PERSON)], search)).rejects.toThrow('a defect')
    expect(listAttempts(search)).toEqual(['a error'])
    expect(spans).toEqual(['a outside error'])
    expect(settled).toEqual([expect.objectContaining({ reason: 'bad_response', source: 'a' })])
  })

  it('that found other names is no answer to the caller, although the source has answered', async () => {
    const settled: Settled = []
    const differing: Answer<Person> = { found: false, namesDiffer: true }
    const search = createSearch()
    const alone = queryInOrder([answering('a', differing, { settled })], search)
    expect(await readCode(alone)).toBe('source_bad_response')
    expect(listAttempts(search)).toEqual(['a names_differ'])
    expect(settled).toEqual(['found'])
    expect(await queryInOrder([answering('a', differing), answering('b', PERSON)], createSearch())).toBe(
      PERSON,
    )
  })

  it.each([
    ['found', PERSON, 'found'],
    ['not found', NOT_FOUND, 'not_found'],
    ['on a watch list', { found: false, watchlisted: true } as const, 'found'],
  ])('whose number is %s tells the guard that', async (_, answer, outcome) => {
    const settled: Settled = []
    await readCode(queryInOrder([answering('a', answer, { settled })], createSearch()))
    expect(settled).toEqual([outcome])
  })
})
