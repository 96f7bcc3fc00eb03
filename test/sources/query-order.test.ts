import { describe, expect, it } from 'vitest'
import type { AppError } from '../../src/errors.ts'
import type { SourceQuery } from '../../src/sources/failover.ts'
import { queryInOrder } from '../../src/sources/failover.ts'
import type { Permit } from '../../src/sources/guard/call-guard.ts'
import { SourceError } from '../../src/sources/source.ts'
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

describe('querying in order', () => {
  it('queries the next source when one fails, and stops at an answer', async () => {
    const search = createSearch()
    expect(
      await queryInOrder([failing('a', 'timeout'), answering('b', PERSON), failing('c', 'timeout')], search),
    ).toBe(PERSON)
    expect(listAttempts(search)).toEqual(['a timeout', 'b found'])
  })

  it('ends with "not found"', async () => {
    const search = createSearch()
    expect(await queryInOrder([answering('a', NOT_FOUND), answering('b', PERSON)], search)).toBe(NOT_FOUND)
    expect(listAttempts(search)).toEqual(['a not_found'])
  })

  it('makes two paid calls at most', async () => {
    const third = answering('c', PERSON)
    const search = createSearch()
    const work = queryInOrder([failing('a', 'unreachable'), failing('b', 'bad_response'), third], search)
    expect(await readCode(work)).toBe('source_bad_response')
    expect(listAttempts(search)).toEqual(['a unreachable', 'b bad_response'])
  })

  it('does not count calls that were refused or never sent', async () => {
    const search = createSearch()
    const queries = [failing('a', 'refused'), failing('b', 'throttled'), failing('c', 'unreachable', false)]
    expect(await queryInOrder([...queries, answering('d', PERSON)], search)).toBe(PERSON)
  })

  it('repeats a call only when nothing was sent', async () => {
    const lost = failing('a', 'unreachable', false)
    const sent = failing('b', 'unreachable')
    await readCode(queryInOrder([lost, sent], createSearch()))
    expect([lost.calls, sent.calls]).toEqual([2, 1])
  })

  it('does not repeat a call after a slow connection', async () => {
    let calls = 0
    const unresponsive: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a'),
      query: async () => {
        calls += 1
        throw new SourceError('a', 'unreachable', { sent: false, problem: 'slow_connection' })
      },
    }
    expect(await queryInOrder([unresponsive, answering('b', PERSON)], createSearch())).toBe(PERSON)
    expect(calls).toBe(1)
  })

  it('skips sources that the guard refuses', async () => {
    const search = createSearch()
    const queries = (['disabled', 'breaker_open', 'spend_cap'] as const).map((admit) =>
      answering(admit, PERSON, { admit }),
    )
    expect(await readCode(queryInOrder(queries, search))).toBe('source_unavailable')
    expect(listAttempts(search)).toEqual([
      'disabled disabled',
      'breaker_open breaker_open',
      'spend_cap spend_cap',
    ])
  })

  it('returns the shortest Retry-After of the vendors when all are cooling down', async () => {
    const coolingDown = (name: string, ms: number | undefined): SourceQuery<Person> => {
      const admit = ms === undefined ? 'disabled' : 'retry_after'
      const guard = { ...createGuard(name, { admit }), retryAfterMs: () => ms }
      return { name, guard, query: async () => PERSON }
    }
    const readRetryAfter = async (...waits: (number | undefined)[]) => {
      const queries = waits.map((ms, index) => coolingDown(String(index), ms))
      const error = await queryInOrder(queries, createSearch()).catch((failure: unknown) => failure)
      return (error as AppError).headers['retry-after']
    }
    expect(await readRetryAfter(120_500, 90_200, undefined)).toBe('91')
    expect(await readRetryAfter(120_500, 0)).toBe('30')
    expect(await readRetryAfter(5000)).toBe('30')
  })

  it('still queries local sources after two paid calls', async () => {
    const search = createSearch()
    const local: SourceQuery<Person> = { name: 'd', query: async () => PERSON }
    const queries = [failing('a', 'timeout'), failing('b', 'timeout'), failing('c', 'timeout'), local]
    expect(await queryInOrder(queries, search)).toBe(PERSON)
    expect(listAttempts(search)).toEqual(['a timeout', 'b timeout', 'd found'])
  })

  it('does not wait for a permit after the deadline, and releases it', async () => {
    const { promise, resolve } = Promise.withResolvers<Permit>()
    const settled: Settled = []
    const late = answering('a', PERSON, { admit: promise })
    const caller = new AbortController()
    const work = readCode(queryInOrder([late], createSearch({ signal: caller.signal })))
    caller.abort()
    expect(await work).toBe('source_timeout')
    resolve(createPermit(false, settled))
    await expect.poll(() => settled).toEqual(['released'])
  })

  it('does not count our own deadline against the source', async () => {
    const settled: Settled = []
    const hanging: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { settled }),
      query: () => new Promise(() => {}),
    }
    const caller = new AbortController()
    const work = readCode(queryInOrder([hanging], createSearch({ signal: caller.signal })))
    setImmediate(() => caller.abort())
    await work
    expect(settled).toMatchObject([{ reason: 'timeout', fault: 'deadline' }])
  })

  it('uses the error of a source that knows at the deadline that nothing was sent', async () => {
    const caller = new AbortController()
    const settled: Settled = []
    const waiting: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { settled }),
      query: () =>
        new Promise((_resolve, reject) => {
          const unsent = new SourceError('a', 'timeout', { sent: false, fault: 'deadline' })
          caller.signal.addEventListener('abort', () => reject(unsent))
        }),
    }
    const work = readCode(queryInOrder([waiting], createSearch({ signal: caller.signal })))
    setImmediate(() => caller.abort())
    expect(await work).toBe('source_timeout')
    expect(settled).toMatchObject([{ sent: false }])
  })

  it('ends at the deadline, even when a source ignores the signal', async () => {
    const hanging: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a'),
      query: () => new Promise(() => {}),
    }
    const caller = new AbortController()
    const work = readCode(
      queryInOrder([hanging, answering('b', PERSON)], createSearch({ signal: caller.signal })),
    )
    setImmediate(() => caller.abort())
    expect(await work).toBe('source_timeout')
  })

  it('throws an unexpected error after the permit is settled', async () => {
    const settled: Settled = []
    const bug = new TypeError('bug')
    const broken: SourceQuery<Person> = {
      name: 'a',
      guard: createGuard('a', { settled }),
      query: () => Promise.reject(bug),
    }
    expect(await readCode(queryInOrder([broken, answering('b', PERSON)], createSearch()))).toBe(bug)
    expect(settled).toHaveLength(1)
  })
})

describe("a vendor's reference", () => {
  const readReference = async (reference: unknown) => {
    const search = createSearch({ secrets: ['12345678901', '8031234567'] })
    await queryInOrder([answering('a', { ...PERSON, reference })], search)
    return search.sourceAttempts[0]?.reference
  }

  it('is added to the source attempts when it is a plain identifier', async () => {
    expect(await readReference('dj-99-x')).toBe('dj-99-x')
    expect(await readReference(77)).toBe('77')
  })

  it.each([
    ['is the number', '12345678901'],
    ['contains the phone', 'ref-0803-123-4567'],
    ['is a sentence', 'Ada Obi was found'],
    ['is not text', { id: 1 }],
    ['is long', 'x'.repeat(101)],
  ])('is dropped when it %s', async (_why, reference) => {
    expect(await readReference(reference)).toBeUndefined()
  })
})
