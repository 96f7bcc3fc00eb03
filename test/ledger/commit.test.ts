import { describe, expect, it } from 'vitest'
import { type CheckedGuess, type CommitParts, findRefused, packParts } from '../../src/ledger/commit.ts'

const FRESH = { byAll: 0, byKey: 0, isKnown: false, people: 0 }
const toCheck = (guess: Partial<CheckedGuess> = {}): CommitParts => ({
  guess: { subject: 'aa', keyId: 'k', isWrong: true, maxPeople: 100, attempt: { counted: false }, ...guess },
  answer: undefined,
})
const decide = (checks: readonly CommitParts[], facts = checks.map(() => FRESH), answers: boolean[] = []) => {
  const batch = packParts(checks, 0)
  return batch ? findRefused(batch, { guesses: facts, answers, claims: [], payments: [], shares: [] }) : []
}

describe('the checks of a batch', () => {
  it('are decided in order: the sixth wrong guess of a key is refused, and a right one after it', () => {
    const wrong = Array.from({ length: 6 }, () => toCheck())
    expect(decide([...wrong, toCheck({ isWrong: false })])).toEqual([
      [5, 'too_many_attempts'],
      [6, 'too_many_attempts'],
    ])
    expect(decide([toCheck({ isWrong: false }), ...wrong.slice(0, 5)])).toEqual([])
  })

  it('do not count what is refused by the quota against the guess limit', () => {
    const beyond = { ...FRESH, people: 1 }
    const refused = Array.from({ length: 20 }, (_each, index) =>
      toCheck({ keyId: `k${index}`, maxPeople: 1 }),
    )
    const checks = [...refused, toCheck({ keyId: 'other' })]
    const result = decide(checks, [...refused.map(() => beyond), FRESH])
    expect(result).toEqual(refused.map((_check, index) => [index, 'quota_exceeded']))
  })

  it('count a person of a key once', () => {
    const checks = ['aa', 'bb', 'aa', 'cc'].map((subject) =>
      toCheck({ subject, isWrong: false, maxPeople: 2 }),
    )
    expect(decide(checks)).toEqual([[3, 'quota_exceeded']])
  })

  it('leave out identical guesses that are counted, or counted by the first of them in the batch', () => {
    const attempt = { counted: false }
    const batch = packParts(
      [toCheck({ attempt }), toCheck({ attempt }), toCheck({ attempt: { counted: true } })],
      0,
    )
    expect(batch?.guesses.map(({ position }) => position)).toEqual([0])
  })

  it('are none where there is nothing to check', () => {
    expect(packParts([undefined, { guess: undefined, answer: undefined }], 0)).toBeUndefined()
  })
})
