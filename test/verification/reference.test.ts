import { expect, it } from 'vitest'
import { createReference } from '../../src/verification/verification-request.ts'

it('is ver_ and 36 characters, 26 of them random', () => {
  expect(createReference()).toMatch(/^ver_[0-9a-hjkmnp-tv-z]{36}$/)
})

it('sorts by time', () => {
  const times = [0, 1, 31, 32, 1_000_000, 1_763_000_000_000, 1_763_000_000_001]
  const references = times.map((time) => createReference(time))
  expect(references.toSorted()).toEqual(references)
})

it('does not repeat', () => {
  expect(new Set(Array.from({ length: 10_000 }, () => createReference(0))).size).toBe(10_000)
})
