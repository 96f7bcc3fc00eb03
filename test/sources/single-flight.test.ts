import { expect, it } from 'vitest'
import type { SourceAttempt, SourceQuery } from '../../src/sources/failover.ts'
import { createSingleFlight } from '../../src/sources/failover.ts'
import { createCallGuard } from '../../src/sources/guard/call-guard.ts'

const QUESTION = ['key', 'nin', '12345678901', '8031234567']

it('a request that joined one without paid calls left calls the source itself', async () => {
  const singleFlight = createSingleFlight()
  const { promise: refused, resolve: refuse } = Promise.withResolvers<'paid_calls'>()
  const sharedState = { isDisabled: () => false, spend: () => refused }
  const free: SourceQuery<string> = {
    name: 'dojah',
    query: async () => ({ found: true, record: 'a person' }),
  }
  const paid = { ...free, guard: createCallGuard('dojah', 'verify_nin', sharedState) }
  const share = (query: SourceQuery<string>, sourceAttempts: SourceAttempt[]) =>
    singleFlight.share(QUESTION, [query], { sourceAttempts, signal: undefined })
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
