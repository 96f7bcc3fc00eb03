import { describe, expect, it } from 'vitest'
import { type GuessFacts, refuseGuess, toGuessLimits } from '../../src/ledger/guess-rule.ts'

const LIMITS = toGuessLimits(Date.UTC(2026, 10, 17, 23, 30))
const FACTS: GuessFacts = { byKey: 0, byAll: 0, isKnown: false, people: 0 }
const refuse = (facts: Partial<GuessFacts>, maxPeople = 10) =>
  refuseGuess(LIMITS, { ...FACTS, ...facts }, maxPeople)

describe('a guess about a number', () => {
  it('is refused after five that failed by the same key', () => {
    expect([refuse({ byKey: 4, byAll: 4 }), refuse({ byKey: 5, byAll: 5 })]).toEqual([
      undefined,
      'too_many_attempts',
    ])
  })

  it('is refused after twenty that failed by all keys together', () => {
    expect([refuse({ byAll: 19 }), refuse({ byAll: 20 })]).toEqual([undefined, 'too_many_attempts'])
  })

  it('counts those of the last 24 hours', () => {
    expect(LIMITS.at - LIMITS.since).toBe(24 * 3_600_000)
  })
})

describe('the people that a key asks about on one day', () => {
  it('are at most as many as it may', () => {
    expect([refuse({ people: 9 }), refuse({ people: 10 })]).toEqual([undefined, 'quota_exceeded'])
  })

  it('are counted once each: it may ask again about one that it knows', () => {
    expect(refuse({ people: 10, isKnown: true })).toBeUndefined()
  })

  it('are counted by the day in Lagos', () => {
    expect(LIMITS.day).toBe(Date.UTC(2026, 10, 18) / 86_400_000)
    expect(toGuessLimits(Date.UTC(2026, 10, 17, 22, 59)).day).toBe(LIMITS.day - 1)
  })

  it('matter only if the number may be guessed', () => {
    expect(refuse({ byKey: 5, people: 10 })).toBe('too_many_attempts')
  })
})
