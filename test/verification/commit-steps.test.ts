import { describe, expect, it } from 'vitest'
import { AppError } from '../../src/errors.ts'
import type { CommitParts, Spending } from '../../src/ledger/commit.ts'
import { NotBegun } from '../../src/sources/failover.ts'
import { AlreadyAnswered, Commits } from '../../src/verification/commits.ts'
import type { IdempotencyClaim, StoredResponse } from '../../src/verification/idempotency.ts'

type Answer = string | Error | undefined
type Wish = {
  readonly withClaim?: boolean
  readonly withGuess?: boolean
  readonly withBudget?: boolean
  /** What each commit comes to, in order; then all succeed. An error that is thrown at once is given as a function. */
  readonly answers?: readonly (Answer | (() => Promise<never> | never))[]
  /** What is stored under the Idempotency-Key. */
  readonly stored?: StoredResponse
  readonly money?: readonly string[]
}

const STORED = { status: 200, body: '{}', outcome: 'verified', reference: 'ver_0', released: null } as const
const ENTRY = { phase: 'outcome' } as const
const END = { entry: ENTRY, guess: 'withdrawn' as const }

/** A verification whose commits are noted, and come to what the test says. */
function open({ withClaim, withGuess, withBudget, answers = [], stored, money = [] }: Wish = {}) {
  const commits: { parts: CommitParts; phases: string[]; change?: unknown }[] = []
  const notes: string[] = []
  const spans: string[] = []
  const left = [...answers]
  const moneyLeft = [...money]
  const record = (parts: CommitParts, entries: readonly { phase: string }[], change?: unknown) => {
    const answer = left.shift()
    if (typeof answer === 'function') return answer()
    commits.push({
      parts,
      phases: entries.map(({ phase }) => phase),
      ...(change !== undefined && { change }),
    })
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
  }
  const claim = { id: { name: 'n' }, isHeld: false, used: 0 } as unknown as IdempotencyClaim
  const guess = { counted: false }
  const toNote = (what: string) => (one: { kobo?: number; name?: string }) => {
    notes.push(`${what} ${one.kobo ?? one.name ?? ''}`.trim())
  }
  let price = 100
  const deps = {
    audit: {
      recordWith: record,
      recordChange: (change: unknown, entries: readonly { phase: string }[], parts: CommitParts) =>
        record(parts, entries, change),
    },
    leases: {
      take: async (name: string, kind: string) =>
        moneyLeft.shift() ?? { name, kind, kobo: price++, day: 1, node: 'here', isCapped: true },
      putBack: toNote('put back'),
      lose: toNote('lose'),
      refundLate: async (refund: Spending & { id: string; payer?: unknown }) => {
        notes.push(`refund late ${refund.kobo} of ${JSON.stringify(refund.payer)}`)
        expect(refund.id).toMatch(/^[0-9a-f-]{36}$/)
      },
    },
    guessLimit: {
      catchUp: async () => void notes.push('catch up'),
      toReserved: () => ({ reserved: true }),
      leave: (_guess: unknown, isFailed: boolean) => ({ subject: 's', id: 'g', isFailed }),
      settle: async ({ isFailed }: { isFailed: boolean }) => void notes.push(`settle ${isFailed}`),
      withdrawLater: () => notes.push('withdraw later'),
    },
    idempotency: {
      toNewClaim: (_claim: unknown, paidCalls: number) => ({ paidCalls }),
      find: async (found: IdempotencyClaim) => {
        notes.push('find')
        if (!stored) found.isHeld = true
        return stored
      },
      releaseLater: () => notes.push('release later'),
      release: async (_claim: unknown, error: unknown) => void notes.push(`release after ${error}`),
      storeLater: () => notes.push('store later'),
    },
  }
  const budget = withBudget ? { payer: { reference: 'ver_1', lease: 'l' }, most: 3, used: 0 } : undefined
  const verification = {
    deps,
    idType: { kind: 'nin' },
    request: {
      caller: { keyId: 'key' },
      trace: {
        startStep: (name: string) => {
          spans.push(name)
          return { end: () => {} }
        },
      },
    },
    auditFields: { key_id: 'key' },
    startedAt: 'then',
    budget,
  }
  const held = { claim: withClaim ? claim : undefined, guess: withGuess ? guess : undefined }
  return {
    commits,
    notes,
    spans,
    claim,
    guess,
    budget,
    steps: new Commits(verification as never, held as never),
  }
}

const ALL = { withClaim: true, withGuess: true, withBudget: true }
const LOST = () => new AppError('audit_unavailable')

describe('the begin of a verification', () => {
  it('is one commit with the key, the guess and the intent, however often it is asked for', async () => {
    const { steps, commits, claim, notes } = open(ALL)
    await Promise.all([steps.begin(), steps.begin()])
    await steps.begin()
    expect(commits).toEqual([
      {
        parts: {
          guess: { reserved: true },
          claim: { paidCalls: 0 },
          payment: undefined,
          spending: undefined,
        },
        phases: ['intent'],
      },
    ])
    expect(claim.isHeld).toBe(true)
    expect(notes).toEqual(['catch up'])
  })

  it('has no key and no guess where there are none', async () => {
    const { steps, commits } = open()
    await steps.begin()
    expect(commits[0]?.parts).toEqual({
      guess: undefined,
      claim: undefined,
      payment: undefined,
      spending: undefined,
    })
  })

  it('includes the price of the first call, as a paid call of a new key', async () => {
    const { steps, commits, budget } = open(ALL)
    await steps.pay('dojah')
    expect(commits).toHaveLength(1)
    expect(commits[0]?.parts).toMatchObject({
      claim: { paidCalls: 1 },
      payment: undefined,
      spending: [{ kobo: 100, calls: 1, key: { id: 'key', month: expect.stringMatching(/^20\d\d-\d\d$/) } }],
    })
    expect(budget?.used).toBe(1)
  })

  it('counts the first call against a key that is in the store already, or a verification of the queue', async () => {
    const queued = open({ withBudget: true })
    await queued.steps.pay('dojah')
    expect(queued.commits[0]?.parts.payment).toMatchObject({
      payer: { reference: 'ver_1', lease: 'l' },
      most: 3,
      refunded: 0,
    })
    const again = open({ ...ALL, answers: ['claimed'] })
    await again.steps.pay('dojah')
    expect(again.notes).toEqual(['catch up', 'find'])
    expect(again.commits[1]?.parts).toMatchObject({ claim: undefined, payment: { most: 3 } })
  })

  it('fails with the stored response under its key, and its money is put back', async () => {
    const { steps, notes } = open({ ...ALL, answers: ['claimed'], stored: STORED })
    const error = await steps.pay('dojah').catch((thrown) => thrown)
    expect(error).toBeInstanceOf(NotBegun)
    expect(error.reason).toBeInstanceOf(AlreadyAnswered)
    expect(error.reason.stored).toBe(STORED)
    expect(notes).toEqual(['catch up', 'find', 'put back 100'])
  })

  it('fails at a limit of guesses', async () => {
    const { steps } = open({ ...ALL, answers: ['too_many_attempts'] })
    const error = await steps.begin().catch((thrown) => thrown)
    expect(error).toBeInstanceOf(NotBegun)
    expect(error.reason).toHaveProperty('code', 'too_many_attempts')
  })

  it('that may or may not be written leaves nothing counted', async () => {
    const { steps, notes, claim } = open({ ...ALL, answers: [LOST()] })
    await expect(steps.pay('dojah')).rejects.toBeInstanceOf(NotBegun)
    expect(notes).toEqual(['catch up', 'release later', 'withdraw later', 'lose 100', 'put back 100'])
    expect(claim.isHeld).toBe(false)
  })

  it('that may or may not be written withdraws no guess that was counted before, and releases no key that is held', async () => {
    const { steps, notes, claim, guess } = open({ ...ALL, answers: [LOST()] })
    claim.isHeld = true
    guess.counted = true
    await expect(steps.begin()).rejects.toBeInstanceOf(NotBegun)
    expect(notes).toEqual(['catch up'])
  })

  it('looks for a stored response first where one is likely', async () => {
    const { steps, commits, notes } = open({ ...ALL, stored: STORED })
    const error = await steps.recall().catch((thrown) => thrown)
    expect(error).toBeInstanceOf(NotBegun)
    expect(error.reason.stored).toBe(STORED)
    const none = open(ALL)
    await none.steps.recall()
    expect([commits, none.commits]).toEqual([[], []])
    expect([notes, none.notes]).toEqual([['find'], ['find']])
    await open().steps.recall()
  })
})

describe('a paid call', () => {
  it('after the first is a commit of its own, with the calls that were not billed', async () => {
    const { steps, commits, budget, notes } = open({ withBudget: true })
    const first = await steps.pay('dojah')
    if (typeof first === 'string') throw new Error(first)
    first.refund()
    expect(budget?.used).toBe(0)
    await steps.pay('youverify')
    expect(budget?.used).toBe(1)
    expect(commits[1]).toMatchObject({ phases: [], parts: { payment: { refunded: 1 } } })
    expect(commits[1]?.parts.spending?.map(({ kobo, calls }) => [kobo, calls])).toEqual([
      [101, 1],
      [100, -1],
    ])
    expect(notes).toEqual(['catch up', 'put back 100'])
    // It is given back once.
    await steps.end(END)
    expect(commits[2]?.parts.spending).toBeUndefined()
  })

  it('that was not billed is given back although the commit of the next payment fails meanwhile', async () => {
    const paid: { refund: () => void }[] = []
    const fail = () => {
      for (const { refund } of paid) refund()
      return Promise.reject(LOST())
    }
    const { steps, budget, notes } = open({ withBudget: true, answers: [undefined, fail] })
    const first = await steps.pay('dojah')
    if (typeof first !== 'string') paid.push(first)
    await expect(steps.pay('youverify')).rejects.toMatchObject({ code: 'audit_unavailable' })
    await steps.abandon(new Error('away'))
    expect(budget?.used).toBe(0)
    expect(notes.slice(1)).toEqual(['lose 101', expect.stringMatching(/^refund late 100 of /)])
  })

  it('is not made at a spend cap, nor when no paid call is left', async () => {
    const capped = open({ money: ['spend_cap'] })
    expect(await capped.steps.pay('dojah')).toBe('spend_cap')
    expect(capped.commits).toEqual([])
    const first = open({ ...ALL, answers: ['paid_calls'] })
    expect(await first.steps.pay('dojah')).toBe('paid_calls')
    expect(first.notes).toEqual(['catch up', 'put back 100'])
    const further = open({ ...ALL, answers: [undefined, 'paid_calls'] })
    await further.steps.pay('dojah')
    expect(await further.steps.pay('dojah')).toBe('paid_calls')
    expect(further.notes).toEqual(['catch up', 'put back 101'])
    expect(further.budget?.used).toBe(1)
  })

  it('is tried again with other money when its money was lost', async () => {
    const { steps, notes, commits } = open({ answers: ['money_lost'] })
    expect(await steps.pay('dojah')).toHaveProperty('refund')
    expect(notes).toEqual(['catch up', 'lose 100', 'catch up'])
    expect(commits.map(({ parts }) => parts.spending?.[0]?.kobo)).toEqual([100, 101])
  })

  it('that may or may not be written stays counted, with what would be given back', async () => {
    const { steps, notes, commits } = open({ answers: [undefined, LOST()] })
    const first = await steps.pay('dojah')
    if (typeof first !== 'string') first.refund()
    await expect(steps.pay('dojah')).rejects.toThrow()
    expect(notes).toEqual(['catch up', 'lose 101', 'lose 100'])
    await steps.end(END)
    expect(commits.at(-1)?.parts.spending).toBeUndefined()
  })

  it('is not made once the end is waited for', async () => {
    const { steps, commits } = open()
    const ending = steps.end(END)
    await expect(steps.pay('dojah')).rejects.toHaveProperty('code', 'source_timeout')
    await ending
    expect(commits.map(({ phases }) => phases)).toEqual([['intent'], ['outcome']])
  })

  it('that is refunded after the end is refunded in a commit of its own', async () => {
    const { steps, notes, budget } = open({ withBudget: true })
    const paid = await steps.pay('dojah')
    await steps.end(END)
    if (typeof paid !== 'string') paid.refund()
    expect(notes).toEqual(['catch up', 'refund late 100 of {"reference":"ver_1","lease":"l"}'])
    expect(budget?.used).toBe(0)
  })
})

describe('the end of a verification', () => {
  it('is one commit with the outcome, the end of the guess and the calls that were not billed', async () => {
    const { steps, commits, claim, notes } = open(ALL)
    const paid = await steps.pay('dojah')
    if (typeof paid !== 'string') paid.refund()
    const refunded: number[] = []
    const toParts = (count: number) => {
      refunded.push(count)
      return { completion: { sealed: 'x' } } as never
    }
    expect(await steps.end({ entry: ENTRY, guess: 'failed' as const, toParts })).toBeUndefined()
    expect(commits[1]).toMatchObject({
      phases: ['outcome'],
      parts: {
        completion: { sealed: 'x' },
        settled: { isFailed: true },
        spending: [{ kobo: 100, calls: -1 }],
      },
    })
    expect(refunded).toEqual([1])
    expect(claim.isHeld).toBe(false)
    expect(notes).toEqual(['catch up', 'put back 100'])
    // Nothing is left to give back.
    await steps.abandon(undefined)
    expect(notes).toEqual(['catch up', 'put back 100'])
  })

  it('without a budget tells of no refunds', async () => {
    const { steps } = open()
    const paid = await steps.pay('dojah')
    if (typeof paid !== 'string') paid.refund()
    const refunded: number[] = []
    const toParts = (count: number) => {
      refunded.push(count)
      return {}
    }
    await steps.end({ ...END, toParts })
    expect(refunded).toEqual([0])
  })

  it('changes the queue where it is in the queue, and what is refused is not over', async () => {
    const { steps, commits, notes, claim } = open({ ...ALL, answers: [undefined, 'lease_lost'] })
    const paid = await steps.pay('dojah')
    expect(await steps.end({ ...END, toChange: (refunded) => ({ refunded }) as never })).toBe('lease_lost')
    expect(commits[1]).toMatchObject({ change: { refunded: 0 }, phases: ['outcome'] })
    expect(claim.isHeld).toBe(true)
    // The money of the call is still given back with the rest.
    if (typeof paid !== 'string') paid.refund()
    await steps.abandon('the reason')
    expect(notes).toEqual([
      'catch up',
      'refund late 100 of {"reference":"ver_1","lease":"l"}',
      'release after the reason',
      'settle false',
    ])
  })

  it('that the log refuses at once keeps the answer for later, and the claim with it', async () => {
    const refuse = () => {
      throw LOST()
    }
    const { steps, notes, claim } = open({ ...ALL, answers: [undefined, refuse] })
    const toParts = () => ({ completion: {} }) as never
    await expect(steps.end({ ...END, toParts })).rejects.toHaveProperty('code', 'audit_unavailable')
    expect(notes).toEqual(['catch up', 'store later'])
    expect(claim.isHeld).toBe(false)
  })

  it('that may or may not be written keeps the answer for later, and gives nothing back', async () => {
    const { steps, notes, claim } = open({ ...ALL, answers: [undefined, LOST()] })
    const paid = await steps.pay('dojah')
    if (typeof paid !== 'string') paid.refund()
    const toParts = () => ({ completion: {} }) as never
    await expect(steps.end({ ...END, toParts })).rejects.toHaveProperty('code', 'audit_unavailable')
    expect(notes).toEqual(['catch up', 'lose 100', 'store later'])
    expect(claim.isHeld).toBe(false)
    await steps.abandon(undefined)
    expect(notes.slice(3)).toEqual(['settle false'])
  })

  it.each([
    ['there is no answer', LOST(), {}],
    ['another error is the reason', new AppError('internal_error'), { completion: {} }],
    ['the program fails', new Error('a mistake'), { completion: {} }],
  ])('keeps nothing for later where %s', async (_name, error, parts) => {
    const { steps, notes, claim } = open({ ...ALL, answers: [undefined, error] })
    await expect(steps.end({ ...END, toParts: () => parts as never })).rejects.toBe(error)
    expect(notes).toEqual(['catch up'])
    expect(claim.isHeld).toBe(true)
    const without = open({ withGuess: true, answers: [undefined, LOST()] })
    await expect(
      without.steps.end({ ...END, toParts: () => ({ completion: {} }) as never }),
    ).rejects.toThrow()
    expect(without.notes).toEqual(['catch up'])
  })
})

it('each commit of a verification, and the look for an earlier response, has a span of its own', async () => {
  const { steps, spans } = open({ ...ALL, answers: ['claimed'] })
  await steps.pay('dojah')
  await steps.pay('dojah')
  await steps.end(END)
  expect(spans).toEqual(['commit_intent', 'idempotency', 'commit_intent', 'commit_payment', 'commit'])
})

describe('a verification that is given up', () => {
  it('gives back the calls that were not billed, its key and its guess', async () => {
    const { steps, notes } = open(ALL)
    const paid = await steps.pay('dojah')
    if (typeof paid !== 'string') paid.refund()
    await steps.abandon('the reason')
    expect(notes).toEqual([
      'catch up',
      'refund late 100 of {"reference":"ver_1","lease":"l"}',
      'release after the reason',
      'settle false',
    ])
    // Only once.
    await steps.abandon('again')
    expect(notes.slice(4)).toEqual(['release after again'])
  })

  it('pays for no further call, and releases no key that it does not hold', async () => {
    const { steps, notes } = open(ALL)
    await steps.abandon('the reason')
    expect(notes).toEqual(['settle false'])
    await expect(steps.pay('dojah')).rejects.toHaveProperty('code', 'source_timeout')
  })
})
