import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { AppError } from '../errors.ts'
import { queryInOrder } from './failover.ts'
import type { CallGuard, Permit, SkipReason } from './guard/call-guard.ts'
import type { CallOutcome } from './guard/source-warnings.ts'
import type { Search, SourceQuery } from './search.ts'
import { type Answer, SourceError, type SourceFailure } from './source.ts'

type Person = { readonly phone: string }
const PERSON: Answer<Person> = { found: true, record: { phone: '1' } }
const NOBODY: Answer<Person> = { found: false }

const newSearch = (wishes: Partial<Search<Person>> = {}): Search<Person> => ({
  sourceAttempts: [],
  signal: AbortSignal.timeout(5000),
  ...wishes,
})

type Settled = (CallOutcome | 'released')[]
type Wishes = {
  readonly admit?: Permit | SkipReason | Promise<Permit | SkipReason>
  readonly settled?: Settled
}

/** A call that is waited for without end, or not at all. */
const toPass = (isLeft: boolean, settled: Settled = []): Permit => ({
  hedgeAfterMs: () => (isLeft ? 0 : 60_000),
  recordHang: () => {},
  settle: (outcome) => void settled.push(outcome),
  release: () => void settled.push('released'),
})

const toGuard = (name: string, { admit, settled }: Wishes = {}): CallGuard => ({
  name,
  operation: 'verify_nin',
  admit: async () => admit ?? toPass(false, settled),
  read: () => {
    throw new Error('not needed')
  },
  isAvailable: () => true,
  retryAfterMs: () => 0,
  failures: () => new Map(),
})

const answering = (name: string, answer: Answer<Person>, wishes?: Wishes): SourceQuery<Person> => ({
  name,
  guard: toGuard(name, wishes),
  query: async () => answer,
})

const failing = (
  name: string,
  reason: SourceFailure,
  sent = true,
): SourceQuery<Person> & { asked: number } => {
  const failed = {
    name,
    guard: toGuard(name),
    asked: 0,
    query: async () => {
      failed.asked += 1
      throw new SourceError(name, reason, { sent })
    },
  }
  return failed
}

const results = ({ sourceAttempts }: Search<Person>) =>
  sourceAttempts.map(({ name, result }) => `${name} ${result}`)
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => (error instanceof AppError ? error.code : error),
  )

describe('querying in order', () => {
  it('asks the next when one fails, and stops at an answer', async () => {
    const search = newSearch()
    expect(
      await queryInOrder([failing('a', 'timeout'), answering('b', PERSON), failing('c', 'timeout')], search),
    ).toBe(PERSON)
    expect(results(search)).toEqual(['a timeout', 'b found'])
  })

  it('takes "not found" for an answer', async () => {
    const search = newSearch()
    expect(await queryInOrder([answering('a', NOBODY), answering('b', PERSON)], search)).toBe(NOBODY)
    expect(results(search)).toEqual(['a not_found'])
  })

  it('pays for two questions at most', async () => {
    const third = answering('c', PERSON)
    const search = newSearch()
    const work = queryInOrder([failing('a', 'unreachable'), failing('b', 'bad_response'), third], search)
    expect(await codeOf(work)).toBe('source_bad_response')
    expect(results(search)).toEqual(['a unreachable', 'b bad_response'])
  })

  it('does not count what was turned away or never left', async () => {
    const search = newSearch()
    const asks = [failing('a', 'refused'), failing('b', 'throttled'), failing('c', 'unreachable', false)]
    expect(await queryInOrder([...asks, answering('d', PERSON)], search)).toBe(PERSON)
  })

  it('asks once more only when nothing was sent', async () => {
    const lost = failing('a', 'unreachable', false)
    const sent = failing('b', 'unreachable')
    await codeOf(queryInOrder([lost, sent], newSearch()))
    expect([lost.asked, sent.asked]).toEqual([2, 1])
  })

  it('does not connect to a black hole twice', async () => {
    let asked = 0
    const hole: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a'),
      query: async () => {
        asked += 1
        throw new SourceError('a', 'unreachable', { sent: false, problem: 'slow_connection' })
      },
    }
    expect(await queryInOrder([hole, answering('b', PERSON)], newSearch())).toBe(PERSON)
    expect(asked).toBe(1)
  })

  it('skips sources that the guard refuses', async () => {
    const search = newSearch()
    const asks = (['disabled', 'breaker_open', 'spend_cap'] as const).map((admit) =>
      answering(admit, PERSON, { admit }),
    )
    expect(await codeOf(queryInOrder(asks, search))).toBe('source_unavailable')
    expect(results(search)).toEqual(['disabled disabled', 'breaker_open breaker_open', 'spend_cap spend_cap'])
  })

  it('does not wait for a probe, and asks the next beside it', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const settled: Settled = []
    const pass = toPass(true, settled)
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a', { admit: pass }),
      query: () => promise,
    }
    const search = newSearch()
    expect(await queryInOrder([slow, answering('b', PERSON)], search)).toBe(PERSON)
    expect(results(search)).toEqual(['a slow', 'b found'])
    resolve(NOBODY)
    await expect.poll(() => settled).toEqual(['not_found'])
  })

  it('waits for a slow probe when no other source has an answer', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a', { admit: toPass(true) }),
      query: () => promise,
    }
    const last: SourceQuery<Person> = {
      name: 'b',
      guard: toGuard('b'),
      query: async () => {
        resolve(PERSON)
        throw new SourceError('b', 'timeout')
      },
    }
    expect(await queryInOrder([slow, last], newSearch())).toBe(PERSON)
  })

  it('takes the answer of one that seemed to hang while the next is being asked', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a', { admit: toPass(true) }),
      query: () => promise,
    }
    const hanging: SourceQuery<Person> = {
      name: 'b',
      guard: toGuard('b'),
      query: () => {
        resolve(PERSON)
        return new Promise(() => {})
      },
    }
    const { signal } = new AbortController()
    const search = newSearch({ signal })
    expect(await queryInOrder([slow, hanging], search)).toBe(PERSON)
    // The second was asked: the audit log must say so.
    expect(results(search)).toEqual(['a slow', 'a found', 'b slow'])
  })

  it('does not ask the next when the answer comes while the right to ask is waited for', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a', { admit: toPass(true) }),
      query: () => promise,
    }
    const settled: Settled = []
    const admit = async () => {
      resolve(PERSON)
      await nextTurn()
      return toPass(false, settled)
    }
    let asked = 0
    const ask = async () => {
      asked += 1
      return NOBODY
    }
    const search = newSearch()
    const next: SourceQuery<Person> = { name: 'b', guard: { ...toGuard('b'), admit }, query: ask }
    expect(await queryInOrder([slow, next], search)).toBe(PERSON)
    expect([asked, settled, results(search)]).toEqual([0, ['released'], ['a slow', 'a found']])
  })

  it.each([
    ['nobody', NOBODY],
    ['a record with another phone', { found: true, record: { phone: '2' } } as const],
  ])('does not take %s for the answer while a source that hangs may know the person', async (_what, miss) => {
    const askBoth = (end: (late: PromiseWithResolvers<Answer<Person>>) => void) => {
      const late = Promise.withResolvers<Answer<Person>>()
      const slow: SourceQuery<Person> = {
        name: 'a',
        guard: toGuard('a', { admit: toPass(true) }),
        query: () => late.promise,
      }
      const answer = queryInOrder(
        [slow, answering('b', miss)],
        newSearch({ matches: ({ phone }) => phone === '1' }),
      )
      void nextTurn().then(() => end(late))
      return answer
    }
    expect(await askBoth(({ resolve }) => resolve(PERSON))).toBe(PERSON)
    // When it fails, the other one's word counts.
    expect(await askBoth(({ reject }) => reject(new SourceError('a', 'timeout')))).toBe(miss)
  })

  it('waits for the second paid query when a third is not allowed', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const slow: SourceQuery<Person> = {
      name: 'b',
      guard: toGuard('b', { admit: toPass(true) }),
      query: async () => {
        setImmediate(() => resolve(PERSON))
        return promise
      },
    }
    const search = newSearch()
    expect(await queryInOrder([failing('a', 'timeout'), slow, answering('c', PERSON)], search)).toBe(PERSON)
    expect(results(search)).toEqual(['a timeout', 'b found'])
  })

  it('waits for a source that seems to hang when no other is available', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const hangs: string[] = []
    const slow: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a', { admit: { ...toPass(true), recordHang: () => void hangs.push('a') } }),
      query: async () => {
        setImmediate(() => resolve(PERSON))
        return promise
      },
    }
    const off = { ...toGuard('b', { admit: 'disabled' }), isAvailable: () => false }
    const search = newSearch()
    expect(await queryInOrder([slow, { name: 'b', guard: off, query: async () => PERSON }], search)).toBe(
      PERSON,
    )
    expect(results(search)).toEqual(['a found'])
    expect(hangs).toEqual([])
  })

  it('tells the caller to wait as long as the first of the vendors wants, when all want that', async () => {
    const held = (name: string, ms: number | undefined): SourceQuery<Person> => {
      const admit = ms === undefined ? 'disabled' : 'retry_after'
      const guard = { ...toGuard(name, { admit }), retryAfterMs: () => ms }
      return { name, guard, query: async () => PERSON }
    }
    const waitOf = async (...waits: (number | undefined)[]) => {
      const asks = waits.map((ms, index) => held(String(index), ms))
      const error = await queryInOrder(asks, newSearch()).catch((failure: unknown) => failure)
      return (error as AppError).headers['retry-after']
    }
    expect(await waitOf(120_500, 90_200, undefined)).toBe('91')
    expect(await waitOf(120_500, 0)).toBe('30')
    expect(await waitOf(5000)).toBe('30')
  })

  it('takes the first of several slow probes that comes back, not the first that was asked', async () => {
    const deaf: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a', { admit: toPass(true) }),
      query: () => new Promise(() => {}),
    }
    const { promise, resolve } = Promise.withResolvers<Answer<Person>>()
    const back: SourceQuery<Person> = {
      name: 'b',
      guard: toGuard('b', { admit: toPass(true) }),
      query: () => promise,
    }
    const inside: SourceQuery<Person> = {
      name: 'c',
      query: async () => {
        setImmediate(() => resolve(PERSON))
        throw new SourceError('c', 'unreachable')
      },
    }
    // Nothing but the one that comes back ends this search.
    const { signal } = new AbortController()
    expect(await queryInOrder([deaf, back, inside], newSearch({ signal }))).toBe(PERSON)
  })

  it('still asks what costs nothing when two questions are paid for', async () => {
    const search = newSearch()
    const inside: SourceQuery<Person> = { name: 'd', query: async () => PERSON }
    const asks = [failing('a', 'timeout'), failing('b', 'timeout'), failing('c', 'timeout'), inside]
    expect(await queryInOrder(asks, search)).toBe(PERSON)
    expect(results(search)).toEqual(['a timeout', 'b timeout', 'd found'])
  })

  it('does not wait for a right to ask that comes too late, and gives it back', async () => {
    const { promise, resolve } = Promise.withResolvers<Permit>()
    const settled: Settled = []
    const late = answering('a', PERSON, { admit: promise })
    const caller = new AbortController()
    const work = codeOf(queryInOrder([late], newSearch({ signal: caller.signal })))
    caller.abort()
    expect(await work).toBe('source_timeout')
    resolve(toPass(false, settled))
    await expect.poll(() => settled).toEqual(['released'])
  })

  it('does not blame a source that our own deadline cut short', async () => {
    const settled: Settled = []
    const deaf: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a', { settled }),
      query: () => new Promise(() => {}),
    }
    const caller = new AbortController()
    const work = codeOf(queryInOrder([deaf], newSearch({ signal: caller.signal })))
    setImmediate(() => caller.abort())
    await work
    expect(settled).toMatchObject([{ reason: 'timeout', fault: 'deadline' }])
  })

  it('believes a source that says at the end whether anything was sent', async () => {
    const caller = new AbortController()
    const settled: Settled = []
    const waiting: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a', { settled }),
      query: () =>
        new Promise((_resolve, reject) => {
          const unsent = new SourceError('a', 'timeout', { sent: false, fault: 'deadline' })
          caller.signal.addEventListener('abort', () => reject(unsent))
        }),
    }
    const work = codeOf(queryInOrder([waiting], newSearch({ signal: caller.signal })))
    setImmediate(() => caller.abort())
    expect(await work).toBe('source_timeout')
    expect(settled).toMatchObject([{ sent: false }])
  })

  it('waits no longer than it may, even for a source that ignores the signal', async () => {
    const deaf: SourceQuery<Person> = { name: 'a', guard: toGuard('a'), query: () => new Promise(() => {}) }
    const caller = new AbortController()
    const work = codeOf(queryInOrder([deaf, answering('b', PERSON)], newSearch({ signal: caller.signal })))
    setImmediate(() => caller.abort())
    expect(await work).toBe('source_timeout')
  })

  it('lets a bug through as a bug, after the books are closed', async () => {
    const settled: Settled = []
    const bug = new TypeError('bug')
    const broken: SourceQuery<Person> = {
      name: 'a',
      guard: toGuard('a', { settled }),
      query: () => Promise.reject(bug),
    }
    expect(await codeOf(queryInOrder([broken, answering('b', PERSON)], newSearch()))).toBe(bug)
    expect(settled).toHaveLength(1)
  })
})

describe('when "not found" asks the next', () => {
  const next = (wishes: Partial<Search<Person>> = {}) => newSearch({ continueOnNotFound: true, ...wishes })

  it('finds who the first one lacks', async () => {
    expect(await queryInOrder([answering('a', NOBODY), answering('b', PERSON)], next())).toBe(PERSON)
  })

  it('treats a record with another phone as not found: both take as long', async () => {
    const search = next({ matches: ({ phone }) => phone === '2' })
    const other: Answer<Person> = { found: true, record: { phone: '2' } }
    expect(await queryInOrder([answering('a', PERSON), answering('b', other)], search)).toBe(other)
  })

  it('says not found when all say so, and that it does not know when one failed', async () => {
    expect(await queryInOrder([answering('a', NOBODY), answering('b', NOBODY)], next())).toEqual(NOBODY)
    const work = queryInOrder([answering('a', NOBODY), failing('b', 'timeout')], next())
    expect(await codeOf(work)).toBe('source_timeout')
  })

  it.each(['breaker_open', 'spend_cap'] as const)(
    'does not answer not found when another source was skipped: %s',
    async (admit) => {
      const passedOver = answering('b', PERSON, { admit })
      for (const asks of [
        [answering('a', NOBODY), passedOver],
        [passedOver, answering('a', NOBODY)],
      ])
        expect(await codeOf(queryInOrder(asks, next()))).toBe('source_unavailable')
    },
  )

  it('does not miss a source that the operator has switched off', async () => {
    const off = answering('b', PERSON, { admit: 'disabled' })
    expect(await queryInOrder([answering('a', NOBODY), off], next())).toEqual(NOBODY)
  })

  it('reports a timeout when the deadline passed before the next query', async () => {
    const caller = new AbortController()
    const first = answering('a', NOBODY, {
      admit: { ...toPass(false), settle: () => caller.abort() },
    })
    const work = queryInOrder([first, answering('b', PERSON)], next({ signal: caller.signal }))
    expect(await codeOf(work)).toBe('source_timeout')
  })
})

describe('a number that a source calls watch-listed', () => {
  const FLAGGED: Answer<Person> = { found: false, watchlisted: true }
  const marked = (wishes: Partial<Search<Person>> = {}) =>
    newSearch({ markWatchlisted: (record) => ({ ...record, marked: true }), ...wishes })

  it.each([false, true])(
    'goes on to the record of the next source, which is marked (askNext %s)',
    async (askNext) => {
      const search = marked({ continueOnNotFound: askNext })
      const asks = [answering('a', FLAGGED), answering('b', PERSON)]
      expect(await queryInOrder(asks, search)).toEqual({ found: true, record: { phone: '1', marked: true } })
      expect(results(search)).toEqual(['a watchlisted', 'b found'])
    },
  )

  it.each([
    ['alone', []],
    ['before one that has no record', [answering('b', NOBODY)]],
    ['before one that fails', [failing('b', 'bad_response')]],
    ['before one that the guard refuses', [answering('b', PERSON, { admit: 'disabled' })]],
  ])('is a failure of the sources %s, never "not found"', async (_where, others) => {
    for (const askNext of [false, true])
      expect(
        await codeOf(
          queryInOrder([answering('a', FLAGGED), ...others], marked({ continueOnNotFound: askNext })),
        ),
      ).toBe('source_unavailable')
  })

  it('is an answer to the breaker, and paid for', async () => {
    const settled: Settled = []
    const search = marked()
    const asks = [answering('a', FLAGGED, { settled }), failing('b', 'timeout'), answering('c', PERSON)]
    expect(await codeOf(queryInOrder(asks, search))).toBe('source_unavailable')
    expect(settled).toEqual(['found'])
    expect(results(search)).toEqual(['a watchlisted', 'b timeout'])
  })
})

describe("a vendor's reference", () => {
  const referenceOf = async (reference: unknown) => {
    const search = newSearch({ secrets: ['12345678901', '8031234567'] })
    await queryInOrder([answering('a', { ...PERSON, reference })], search)
    return search.sourceAttempts[0]?.reference
  }

  it('goes into the source attempts when it is a plain name', async () => {
    expect(await referenceOf('dj-99-x')).toBe('dj-99-x')
    expect(await referenceOf(77)).toBe('77')
  })

  it.each([
    ['is the number', '12345678901'],
    ['hides the phone', 'ref-0803-123-4567'],
    ['is a sentence', 'Ada Obi was found'],
    ['is no text', { id: 1 }],
    ['is long', 'x'.repeat(101)],
  ])('does not when it %s', async (_why, reference) => {
    expect(await referenceOf(reference)).toBeUndefined()
  })
})
