import { expect, it } from 'vitest'
import { createPost } from '../sources/guard/call-guard.ts'
import type { SourceAsk, Tried } from '../sources/search.ts'
import { createFlights } from './single-flight.ts'

const QUESTION = ['key', 'nin', '12345678901', '8031234567']

it('a request that joined one without paid calls left asks by itself', async () => {
  const flights = createFlights()
  const { promise: refused, resolve: refuse } = Promise.withResolvers<'paid_calls'>()
  const agreement = { isDisabled: () => false, spend: () => refused }
  const well: SourceAsk<string> = { name: 'dojah', ask: async () => ({ found: true, record: 'a person' }) }
  const short = { ...well, post: createPost('dojah', 'verify_nin', agreement) }
  const share = (ask: SourceAsk<string>, trail: Tried[]) =>
    flights.share(QUESTION, [ask], { trail, signal: undefined })
  const trails: Tried[][] = [[], [], []]
  const first = share(short, trails[0] ?? [])
  const others = [1, 2].map((index) => share(well, trails[index] ?? []))
  refuse('paid_calls')
  await expect(first).rejects.toMatchObject({ code: 'source_unavailable' })
  expect(await Promise.all(others)).toEqual(Array(2).fill({ found: true, record: 'a person' }))
  expect(trails.map((trail) => trail.map(({ result }) => result))).toEqual([
    ['paid_calls'],
    ['found'],
    ['found'],
  ])
})
