import { expect, it } from 'vitest'
import type { SourceAttempt, SourceQuery } from '../../src/sources/failover.ts'
import { NotBegun } from '../../src/sources/failover.ts'
import { createCallGuard } from '../../src/sources/guard/call-guard.ts'
import { createSingleFlight } from '../../src/sources/single-flight.ts'

const QUESTION = ['key', 'nin', '12345678901', '8031234567']

it('a request that joined one without paid calls left calls the source itself', async () => {
  const singleFlight = createSingleFlight()
  const { promise: refused, resolve: refuse } = Promise.withResolvers<'paid_calls'>()
  const free: SourceQuery<string> = {
    name: 'dojah',
    query: async () => ({ found: true, record: 'a person' }),
  }
  const paid = { ...free, guard: createCallGuard('dojah', 'verify_nin', { isDisabled: () => false }) }
  const share = (query: SourceQuery<string>, sourceAttempts: SourceAttempt[]) =>
    singleFlight.share(QUESTION, [query], {
      sourceAttempts,
      signal: undefined,
      lineage: 'key',
      begin: async () => {},
      pay: () => refused,
    })
  const attempts: SourceAttempt[][] = [[], [], []]
  const first = share(paid, attempts[0] ?? [])
  const others = [1, 2].map((index) => share(free, attempts[index] ?? []))
  refuse('paid_calls')
  await expect(first).rejects.toMatchObject({ code: 'source_unavailable' })
  expect(await Promise.all(others)).toEqual(Array(2).fill({ found: true, record: 'a person' }))
  expect(attempts.map((sourceAttempts) => sourceAttempts.map(({ result }) => result))).toEqual([
    ['paid_calls'],
    ['found'],
    ['found'],
  ])
})

it('a request that joined one that was refused calls the source itself, after its own begin', async () => {
  const singleFlight = createSingleFlight()
  const steps: string[] = []
  const query: SourceQuery<string> = {
    name: 'registry',
    query: async () => {
      steps.push('asked')
      return { found: true, record: 'a person' }
    },
  }
  const { promise: refused, reject: refuse } = Promise.withResolvers<void>()
  const share = (name: string, begin: () => Promise<void>) =>
    singleFlight.share(QUESTION, [query], {
      sourceAttempts: [],
      signal: undefined,
      lineage: 'key',
      begin: () => {
        steps.push(`${name} begins`)
        return begin()
      },
      pay: async () => 'spend_cap',
    })
  const first = share('first', () => refused)
  const other = share('other', async () => {})
  refuse(new NotBegun(new Error('too many guesses')))
  await expect(first).rejects.toThrow(NotBegun)
  expect(await other).toEqual({ found: true, record: 'a person' })
  expect(steps).toEqual(['first begins', 'other begins', 'other begins', 'asked'])
})

/** A source that counts its calls, and answers when it is told to. */
function countingSource() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const made = { calls: 0 }
  const query: SourceQuery<string> = {
    name: 'dojah',
    query: async () => {
      made.calls += 1
      await promise
      return { found: true, record: 'a person' }
    },
  }
  return { made, query, answer: resolve }
}

const createSearch = () => ({
  sourceAttempts: [] as SourceAttempt[],
  signal: undefined,
  lineage: 'key',
  begin: async () => {},
  pay: async () => 'spend_cap' as const,
})

it('identical requests at the same time make one call, and each has the attempt in its audit row', async () => {
  const singleFlight = createSingleFlight()
  const { made, query, answer } = countingSource()
  const searches = [createSearch(), createSearch(), createSearch()]
  const work = searches.map((search) => singleFlight.share(QUESTION, [query], search))
  answer()
  expect(await Promise.all(work)).toEqual(Array(3).fill({ found: true, record: 'a person' }))
  expect(made.calls).toBe(1)
  for (const { sourceAttempts } of searches)
    expect(sourceAttempts.map(({ result }) => result)).toEqual(['found'])
  await singleFlight.share(QUESTION, [query], createSearch())
  expect(made.calls).toBe(2)
})

it('questions that differ make calls of their own, also when their parts read alike together', async () => {
  const singleFlight = createSingleFlight()
  const { made, query, answer } = countingSource()
  const questions = [
    ['key', 'nin', '1', '23'],
    ['key', 'nin', '12', '3'],
  ]
  const work = questions.map((question) => singleFlight.share(question, [query], createSearch()))
  answer()
  await Promise.all(work)
  expect(made.calls).toBe(2)
})

it('a request that joined one that failed fails alike, and one that joined any call without money left asks itself', async () => {
  const ask = async (admits: readonly ('spend_cap' | 'paid_calls')[]) => {
    const singleFlight = createSingleFlight()
    const { made, query, answer } = countingSource()
    const refused = admits.map((admit, index) => ({
      ...query,
      name: `${index}`,
      guard: {
        ...createCallGuard(`${index}`, 'verify_nin', { isDisabled: () => false }),
        admit: async () => admit,
      },
    }))
    const first = singleFlight.share(QUESTION, refused, createSearch())
    const second = singleFlight.share(QUESTION, [query], createSearch())
    answer()
    await expect(first).rejects.toMatchObject({ code: 'source_unavailable' })
    await second.catch(() => {})
    return made.calls
  }
  expect(await ask(['spend_cap'])).toBe(0)
  expect(await ask(['spend_cap', 'paid_calls'])).toBe(1)
})
