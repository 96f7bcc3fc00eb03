import { expect, it } from 'vitest'
import { readRetryAfterMs } from '../../src/sources/reply.ts'

const NOW = 'Sun, 15 Nov 2026 12:00:00 GMT'

it.each([
  ['seconds', 429, '120', 120_000],
  ['seconds with 503', 503, ' 7 ', 7000],
  ["a date, by the vendor's own clock", 429, 'Sun, 15 Nov 2026 12:00:30 GMT', 30_000],
  ['at most ten minutes', 429, '86400', 600_000],
  ['a date in the past', 429, 'Sun, 15 Nov 2026 11:00:00 GMT', undefined],
  ['zero', 429, '0', undefined],
  ['words', 429, 'soon', undefined],
  ['another status', 500, '120', undefined],
])('Retry-After is read as %s', (_what, statusCode, value, ms) => {
  expect(readRetryAfterMs({ statusCode, headers: { 'retry-after': value, date: NOW } })).toBe(ms)
})
