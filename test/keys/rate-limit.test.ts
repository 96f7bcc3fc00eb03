import { expect, it } from 'vitest'
import { createRateLimit } from '../../src/keys/rate-limit.ts'

it('allows the limit within a minute from the first request, then starts a new minute', () => {
  let now = 1000
  const { take } = createRateLimit(2, () => now)
  expect(take('a')).toEqual({ allowed: true, remaining: 1, resetS: 60 })
  now += 30_000
  expect(take('a')).toEqual({ allowed: true, remaining: 0, resetS: 30 })
  expect(take('a')).toEqual({ allowed: false, remaining: 0, resetS: 30 })
  expect(take('b').allowed).toBe(true)
  now += 30_000
  expect(take('a')).toEqual({ allowed: true, remaining: 1, resetS: 60 })
})
