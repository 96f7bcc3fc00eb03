import { expect, it } from 'vitest'
import { createCallGuard } from '../sources/guard/call-guard.ts'
import type { SourceAttempt, SourceQuery } from '../sources/search.ts'
import { createSingleFlight } from './single-flight.ts'

const QUESTION = ['key', 'nin', '12345678901', '8031234567']

it('a request that joined one without paid calls left asks by itself', async () => {
  const singleFlight = createSingleFlight()
  const { promise: refused, resolve: refuse } = Promise.withResolvers<'paid_calls'>()
  const sharedState = { isDisabled: () => false, spend: () => refused }
  const well: SourceQuery<string> = {
    name: 'dojah',
    query: async () => ({ found: true, record: 'a person' }),
  }
  const short = { ...well, guard: createCallGuard('dojah', 'verify_nin', sharedState) }
  const share = (ask: SourceQuery<string>, sourceAttempts: SourceAttempt[]) =>
    singleFlight.share(QUESTION, [ask], { sourceAttempts, signal: undefined })
  const trails: SourceAttempt[][] = [[], [], []]
  const first = share(short, trails[0] ?? [])
  const others = [1, 2].map((index) => share(well, trails[index] ?? []))
  refuse('paid_calls')
  await expect(first).rejects.toMatchObject({ code: 'source_unavailable' })
  expect(await Promise.all(others)).toEqual(Array(2).fill({ found: true, record: 'a person' }))
  expect(trails.map((sourceAttempts) => sourceAttempts.map(({ result }) => result))).toEqual([
    ['paid_calls'],
    ['found'],
    ['found'],
  ])
})
