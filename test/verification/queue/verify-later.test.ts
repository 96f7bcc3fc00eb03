import { expect, it } from 'vitest'
import { toRetryDelay } from '../../../src/verification/queue/verify-later.ts'

const SETTINGS = { firstRetryMs: 10_000, longestRetryMs: 900_000 }

it('doubles up to the longest delay', () => {
  const delays = [1, 2, 3, 7, 8, 9, 5000].map((attempts) => toRetryDelay(SETTINGS, attempts, () => 0))
  expect(delays).toEqual([10_000, 20_000, 40_000, 640_000, 900_000, 900_000, 900_000])
})

it('is shorter by a quarter at most, and random', () => {
  expect(toRetryDelay(SETTINGS, 1, () => 1)).toBe(7500)
  expect(new Set(Array.from({ length: 20 }, () => toRetryDelay(SETTINGS, 8))).size).toBeGreaterThan(10)
})
