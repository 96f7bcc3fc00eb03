import { expect, it } from 'vitest'
import { createReference, readReferenceTime } from '../../src/verification/verification-request.ts'

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

it('has its time, and no other text has one', () => {
  const at = Date.parse('2026-11-17T14:00:00.123Z')
  expect(readReferenceTime(createReference(at))).toBe('2026-11-17T14:00:00.123Z')
  for (const text of ['', 'ver_', 'ver_UPPER', '12345678901', createReference(at).slice(4)])
    expect(readReferenceTime(text)).toBe(undefined)
})

it('has no random character that follows from another one', () => {
  const texts = Array.from({ length: 300 }, () => createReference(0).slice(14))
  for (let one = 0; one < 26; one++) {
    // Each of the 32 is missing in one of 14 000 such samples.
    expect(new Set(texts.map((text) => text[one])).size).toBeGreaterThan(28)
    for (let other = one + 1; other < 26; other++)
      expect(texts.filter((text) => text[one] === text[other]).length).toBeLessThan(60)
  }
})
