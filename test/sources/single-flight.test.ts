import { expect, it } from 'vitest'
import type { SourceAttempt, SourceQuery } from '../../src/sources/failover.ts'
import { createSingleFlight, NotBegun } from '../../src/sources/failover.ts'
import { createCallGuard } from '../../src/sources/guard/call-guard.ts'

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
