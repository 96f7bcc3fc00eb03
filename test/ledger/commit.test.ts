import { describe, expect, it } from 'vitest'
import {
  type CheckedGuess,
  type CommitParts,
  findRefused,
  packParts,
  type Spending,
} from '../../src/ledger/commit.ts'

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

  it('count wrong guesses of all keys about one person', () => {
    const checks = Array.from({ length: 21 }, (_each, index) => toCheck({ keyId: `k${index}` }))
    expect(decide(checks)).toEqual([[20, 'too_many_attempts']])
    expect(decide([...checks.slice(1), toCheck({ subject: 'bb' })])).toEqual([])
  })

  it('use one quota of a key, that of its first guess in the batch', () => {
    const checks = [1, 5, 5].map((maxPeople, index) => toCheck({ subject: `a${index}`, maxPeople }))
    expect(decide(checks)).toEqual([
      [1, 'quota_exceeded'],
      [2, 'quota_exceeded'],
    ])
  })

  it('are none where there is nothing to check', () => {
    expect(packParts([undefined, { guess: undefined, answer: undefined }], 0)).toBeUndefined()
  })
})

describe('the parts of a commit', () => {
  const toSpending = (change: Partial<Spending> = {}): Spending => ({
    ...{ name: 'acme', day: 1, node: 'one', calls: 1, kobo: 10, isCapped: true },
    ...change,
  })
  const pack = (...parts: CommitParts[]) => packParts(parts, 0) as NonNullable<ReturnType<typeof packParts>>
  const share = { name: 'acme', day: 1, node: 'one', isCapped: true }

  it('add up what is spent, by source, day and node, with who spends it', () => {
    const { shares, refunds } = pack(
      { spending: [toSpending(), toSpending({ calls: -1, kobo: 4 })] },
      {},
      { spending: [toSpending({ kobo: 5 }), toSpending({ day: 2, calls: -1 })] },
      { spending: [toSpending({ name: 'other' }), toSpending({ node: 'two' })] },
    )
    expect(shares).toEqual([
      { ...share, positions: [0, 2], calls: 1, kobo: 11 },
      { ...share, name: 'other', positions: [3], calls: 1, kobo: 10 },
      { ...share, node: 'two', positions: [3], calls: 1, kobo: 10 },
    ])
    expect(refunds).toEqual([{ ...share, day: 2, positions: [], calls: -1, kobo: -10 }])
  })

  it('add up what each key spends, by month, source and node', () => {
    const key = { id: 'k', month: '2026-11' }
    const { keyShares } = pack(
      { spending: [toSpending({ key }), toSpending({ key, calls: -1, kobo: 3 }), toSpending()] },
      { spending: [toSpending({ key: { ...key, month: '2026-12' } }), toSpending({ key, node: 'two' })] },
      { spending: [toSpending({ key: { ...key, id: 'l' } }), toSpending({ key, name: 'other' })] },
    )
    const ofKey = { month: '2026-11', keyId: 'k', name: 'acme', node: 'one', calls: 1, kobo: 10 }
    expect(keyShares).toEqual([
      { ...ofKey, calls: 0, kobo: 7 },
      { ...ofKey, month: '2026-12' },
      { ...ofKey, node: 'two' },
      { ...ofKey, keyId: 'l' },
      { ...ofKey, name: 'other' },
    ])
  })

  it('have the responses one after another, each with its size', () => {
    const answer = (text: string) => ({
      answer: {
        ...{
          keyId: 'k',
          operation: 'o',
          name: 'n',
          fingerprint: 'f',
          subject: 's',
          owner: 'w',
          expiresAt: 1,
        },
        ...{ record: undefined, sealed: Buffer.from(text) },
      },
    })
    const { answers, sealed } = pack(answer('one'), {}, answer(''), answer('second'))
    expect(answers.map(({ position, size }) => [position, size])).toEqual([
      [0, 3],
      [2, 0],
      [3, 6],
    ])
    expect(Buffer.from(sealed).toString()).toBe('onesecond')
    // A thread is sent the whole buffer.
    expect(sealed.buffer.byteLength).toBe(9)
  })

  it('keep the last of several results about one person', () => {
    const kept = (subject: string, expiresAt: number) => ({
      kept: { subject: Buffer.from(subject), sealed: Buffer.alloc(1), expiresAt },
    })
    const { kept: packed } = pack(kept('a', 1), kept('b', 2), kept('a', 3))
    expect(packed.map(({ subject, expiresAt }) => `${subject} ${expiresAt}`)).toEqual(['a 3', 'b 2'])
  })

  it('are refused for one reason each: the response, the claim, the budget, the money, the guess', () => {
    const claim = { keyId: 'k', operation: 'o', name: Buffer.alloc(1), owner: 'w' }
    const every: CommitParts = {
      ...toCheck(),
      answer: {
        ...{
          keyId: 'k',
          operation: 'o',
          name: 'n',
          fingerprint: 'f',
          subject: 's',
          owner: 'w',
          expiresAt: 1,
        },
        ...{ record: undefined, sealed: Buffer.alloc(1) },
      },
      claim: {
        ...claim,
        fingerprint: Buffer.alloc(1),
        subject: null,
        leaseMs: 1,
        expiresAt: 1,
        paidCalls: 1,
      },
      payment: { payer: claim, most: 1, expiresAt: 1, refunded: 0 },
      spending: [toSpending()],
    }
    const batch = pack({}, every)
    const guesses = [{ ...FRESH, byKey: 5 }]
    const facts = { guesses, answers: [false], claims: [false], payments: [false], shares: [false] }
    const reasons = [
      facts,
      { ...facts, answers: [true] },
      { ...facts, answers: [true], claims: [true] },
      { ...facts, answers: [true], claims: [true], payments: [true] },
      { ...facts, answers: [true], claims: [true], payments: [true], shares: [true] },
      { answers: [true], claims: [true], payments: [true], shares: [true], guesses: [FRESH] },
    ].map((each) => findRefused(batch, each))
    expect(reasons).toEqual([
      [[1, 'changed']],
      [[1, 'claimed']],
      [[1, 'paid_calls']],
      [[1, 'money_lost']],
      [[1, 'too_many_attempts']],
      [],
    ])
  })
})
