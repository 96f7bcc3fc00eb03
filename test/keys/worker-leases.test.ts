import { expect, it } from 'vitest'
import { createLeasedRateLimit, createWindows } from '../../src/keys/rate-limit.ts'

it('a new minute ends in 60 seconds, also when the clock has fractions that a sum rounds up', async () => {
  const now = () => 48_806.645969
  expect(now() + 60_000 - now()).toBeGreaterThan(60_000)
  const windows = createWindows(10, now)
  const { take } = createLeasedRateLimit(10, async (key) => windows.take(key, 1), now)
  expect(await take('a')).toEqual({ allowed: true, remaining: 9, resetS: 60 })
})

it('a lease ends with its minute', async () => {
  let now = 0
  const windows = createWindows(2, () => now)
  const { take } = createLeasedRateLimit(
    2,
    async (key) => windows.take(key, 2),
    () => now,
  )
  expect(await take('a')).toEqual({ allowed: true, remaining: 1, resetS: 60 })
  now = 59_999
  expect(take('a')).toEqual({ allowed: true, remaining: 0, resetS: 1 })
  expect(take('a')).toEqual({ allowed: false, remaining: 0, resetS: 1 })
  now = 60_000
  expect(await take('a')).toEqual({ allowed: true, remaining: 1, resetS: 60 })
})
