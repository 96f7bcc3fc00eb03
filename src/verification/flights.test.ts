import { expect, it } from 'vitest'
import type { Skip } from '../sources/post.ts'
import type { SourceAsk, Tried } from '../sources/search.ts'
import { createFlights } from './flights.ts'

const QUESTION = ['key', 'nin', '12345678901', '8031234567']

it('a request that joined one without paid calls left asks by itself', async () => {
  const flights = createFlights()
  const { promise: refused, resolve: refuse } = Promise.withResolvers<Skip>()
  const toAsk = (admit: () => Promise<Skip> | undefined): SourceAsk<string> => {
    const skip = admit()
    return {
      name: 'dojah',
      ask: async () => ({ found: true, record: 'a person' }),
      ...(skip && {
        post: { name: 'dojah', operation: 'verify_nin', admit: () => skip, retryAfterMs: () => 0 } as never,
      }),
    }
  }
  const share = (ask: SourceAsk<string>, trail: Tried[]) =>
    flights.share(QUESTION, [ask], { trail, signal: undefined })
  const trails: Tried[][] = [[], [], []]
  const first = share(
    toAsk(() => refused),
    trails[0] ?? [],
  )
  const others = [1, 2].map((index) =>
    share(
      toAsk(() => undefined),
      trails[index] ?? [],
    ),
  )
  refuse('paid_calls')
  await expect(first).rejects.toMatchObject({ code: 'source_unavailable' })
  expect(await Promise.all(others)).toEqual(Array(2).fill({ found: true, record: 'a person' }))
  expect(trails.map((trail) => trail.map(({ result }) => result))).toEqual([
    ['paid_calls'],
    ['found'],
    ['found'],
  ])
})
