import { createSecretKey, randomBytes } from 'node:crypto'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AuditEntry } from '../../../src/audit/row.ts'
import type { Keyring } from '../../../src/crypto/keyring.ts'
import { toBlindIndex, toBlindIndexText } from '../../../src/crypto/mac.ts'
import { BrokenSeal } from '../../../src/crypto/seal.ts'
import { AppError } from '../../../src/errors.ts'
import { toCaller } from '../../../src/keys/caller.ts'
import { withDefaults } from '../../../src/keys/options.ts'
import type { Claimed, Finish, Retry } from '../../../src/ledger/queue-rows.ts'
import { toNinRecord } from '../../../src/sources/sandbox/nin-record.ts'
import { openStoredResponse } from '../../../src/verification/idempotency.ts'
import { attempt } from '../../../src/verification/queue/attempt.ts'
import { openAnswer, sealQuestion } from '../../../src/verification/queue/sealed-question.ts'

const REFERENCE = 'ver_01kabcdefghjkmnpqrstvwxyz012345678'
const NUMBER = '41000000001'
const PHONE = '8031234567'
const SETTINGS = { firstRetryMs: 1000, longestRetryMs: 60_000, keepMs: 7000, paidCalls: 3 }
const keyring = {
  queue: createSecretKey(randomBytes(32)),
  idempotency: createSecretKey(randomBytes(32)),
} as unknown as Keyring
const subjectKey = createSecretKey(Buffer.alloc(32, 1))
const SUBJECT = toBlindIndexText(subjectKey, 'nin', NUMBER)
const record = toNinRecord(NUMBER, PHONE)

type Wish = {
  readonly claimed?: Partial<Claimed>
  /** Of the request under its Idempotency-Key. */
  readonly fingerprint?: Buffer
  /** What the sources come to: an answer, or what they throw. */
  readonly answer?: object | Error
  /** What is noted of the sources. */
  readonly attempts?: readonly { name: string; result: string }[]
  /** Calls that are paid for before the answer. */
  readonly pays?: number
  readonly scopes?: readonly string[]
  readonly hasKey?: boolean
  /** The lineage of the key that the row names. */
  readonly holder?: string
  /** The source takes no virtual NIN. */
  readonly isPlain?: boolean
  readonly mode?: 'live' | 'test'
  /** What the commits come to, in order; then all succeed. */
  readonly commits?: readonly (string | Error | undefined)[]
}

afterEach(() => void vi.restoreAllMocks())

/** One attempt at a verification, with all that it writes and tells. */
async function run(wish: Wish = {}) {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const {
    mode = 'live',
    answer = { found: true, record },
    attempts = [{ name: 'dojah', result: 'found' }],
  } = wish
  const caller = toCaller({
    ...withDefaults({}),
    id: 'k3JbvwRd',
    lineage: 'k3JbvwRd',
    mode,
    scopes: (wish.scopes ?? ['kyc:nin']) as never,
  })
  const asked = { number: NUMBER, phone: PHONE, requestId: 'req_1', origin: 'https://verify.example', caller }
  const claimed: Claimed = {
    ...{ reference: REFERENCE, lease: 'node:1', keyId: 'k3JbvwRd', lineage: 'k3JbvwRd' },
    ...{ lane: 'single', mode, operation: 'verify_nin', batch: undefined, attempts: 0, paidCalls: 0 },
    ...{ lifeMs: 1, idempotency: undefined, subject: toBlindIndex(subjectKey, 'nin', NUMBER) },
    question: sealQuestion(keyring, REFERENCE, asked as never, wish.fingerprint),
    ...wish.claimed,
  }
  const changes: unknown[] = []
  const entries: AuditEntry[] = []
  const notes: string[] = []
  const events: unknown[] = []
  const healthy: (() => Promise<void>)[] = []
  const commits = [...(wish.commits ?? [])]
  const commit = (recorded: readonly AuditEntry[], change?: unknown) => {
    entries.push(...recorded)
    if (change !== undefined) changes.push(change)
    const result = commits.shift()
    return result instanceof Error ? Promise.reject(result) : Promise.resolve(result)
  }
  const guess = { counted: false }
  const deps = {
    askNext: false,
    reuse: undefined,
    subjectKey,
    pictureKey: () => createSecretKey(Buffer.alloc(32, 2)),
    sources: {
      [mode]: {
        nin: [
          {
            source: {
              name: 'dojah',
              ...(wish.isPlain !== true && { acceptsVirtualNin: true }),
              findNin: () => {},
            },
          },
        ],
        bvn: [{ source: { name: 'dojah', findBvn: () => {} } }],
      },
    },
    queue: {
      keyring,
      settings: SETTINGS,
      findCaller: async () =>
        wish.hasKey === false ? undefined : { ...caller, lineage: wish.holder ?? caller.lineage },
      announce: (event: unknown) => events.push(event),
      signals: { end: (reference: string, outcome: string) => notes.push(`end ${reference} ${outcome}`) },
    },
    audit: {
      recordWith: (_parts: unknown, recorded: readonly AuditEntry[]) => commit(recorded),
      recordChange: (change: unknown, recorded: readonly AuditEntry[]) => commit(recorded, change),
      onceHealthy: (work: () => Promise<void>) => healthy.push(work),
    },
    leases: {
      take: async (name: string) => ({ name, kobo: 1, day: 1, node: 'here', isCapped: false }),
      putBack: () => {},
      lose: () => {},
    },
    guessLimit: {
      open: (_caller: unknown, subject: string, guessed: string) => {
        notes.push(`guess ${subject} ${guessed}`)
        return guess
      },
      catchUp: async () => {},
      toReserved: () => ({}),
      leave: (_guess: unknown, isFailed: boolean) => {
        notes.push(`leave ${isFailed}`)
        return undefined
      },
      withdrawLater: () => {},
    },
    store: { erasure: { eraseLate: async (subject: Buffer) => notes.push(`erase ${subject.length}`) } },
    singleFlight: {
      share: async (
        _question: unknown,
        _queries: unknown,
        {
          sourceAttempts,
          begin,
          pay,
        }: { sourceAttempts: unknown[]; begin: () => Promise<void>; pay: (name: string) => Promise<unknown> },
      ) => {
        await begin()
        for (let paid = 0; paid < (wish.pays ?? 0); paid++) await pay('dojah')
        sourceAttempts.push(...attempts)
        if (answer instanceof Error) throw answer
        return answer
      },
    },
  }
  const outcome = await attempt(deps as never, claimed).catch((error: unknown) => ({ thrown: error }))
  return { outcome, changes, entries, notes, events, healthy, claimed }
}

const last = <T>(list: readonly T[]) => list.at(-1) as T
const read = ({ changes }: { changes: unknown[] }) =>
  openAnswer(keyring, REFERENCE, (last(changes) as Finish).answer as Uint8Array)

describe('an attempt ends a verification', () => {
  it('that the source verified: with its answer, an event, and what was asked', async () => {
    const done = await run()
    expect(done.outcome).toEqual({ sourceAttempts: [{ name: 'dojah', result: 'found' }] })
    expect(done.changes).toHaveLength(1)
    expect(last(done.changes)).toMatchObject({
      ...{ kind: 'finish', reference: REFERENCE, lease: 'node:1', keepMs: 7000, refunded: 0 },
      ...{ state: 'answered', outcome: 'verified', stored: undefined, subject: undefined },
    })
    expect(read(done)).toMatchObject({ status: 200, outcome: 'verified', reference: REFERENCE })
    expect(
      done.entries.map(({ phase, outcome, subject, key_id }) => [phase, outcome, subject, key_id]),
    ).toEqual([
      ['intent', undefined, SUBJECT, 'k3JbvwRd'],
      ['outcome', 'verified', SUBJECT, 'k3JbvwRd'],
    ])
    expect(done.events).toMatchObject([
      {
        type: 'verification.completed',
        keyId: 'k3JbvwRd',
        reference: REFERENCE,
        data: { reference: REFERENCE, operation: 'verify_nin', mode: 'live', status: 'VERIFIED' },
      },
    ])
    expect(last(done.events)).not.toHaveProperty('data.code')
    expect(done.notes).toEqual([`guess ${SUBJECT} ${PHONE}`, 'leave false', `end ${REFERENCE} verified`])
  })

  it('that is not verified, which counts as a wrong guess', async () => {
    const done = await run({ answer: { found: false } })
    expect(last(done.changes)).toMatchObject({ state: 'answered', outcome: 'not_verified' })
    expect(last(done.events)).toMatchObject({ data: { status: 'NOT_VERIFIED' } })
    expect(done.notes).toContain('leave true')
  })

  it('in the sandbox, where nothing is guessed', async () => {
    const done = await run({ mode: 'test' })
    expect(done.notes).toEqual([`end ${REFERENCE} verified`])
  })

  it('of a batch, which has no event of its own', async () => {
    const done = await run({ claimed: { lane: 'batch' } })
    expect(last(done.changes)).toMatchObject({ state: 'answered', event: undefined })
    expect(done.events).toEqual([])
  })

  it('of a BVN as well', async () => {
    const bvn = await run({ claimed: { operation: 'verify_bvn' } })
    expect(last(bvn.entries)).toMatchObject({ detail: 'the key has lost the scope' })
    const done = await run({
      claimed: { operation: 'verify_bvn', subject: toBlindIndex(subjectKey, 'bvn', NUMBER) },
      scopes: ['kyc:bvn'],
      answer: { found: false },
    })
    expect(last(done.entries)).toMatchObject({ operation: 'verify_bvn', outcome: 'not_verified' })
  })

  it('under its Idempotency-Key, unless the caller is told to try again', async () => {
    const idempotency = randomBytes(32)
    const stored = (done: { changes: unknown[] }) => (last(done.changes) as Finish).stored
    const done = await run({ claimed: { idempotency }, fingerprint: Buffer.from('abcd', 'hex') })
    const owner = 'k3JbvwRd abcd'
    const open = (whose: string) =>
      openStoredResponse(keyring, idempotency, stored(done) as Uint8Array, whose)
    expect(open(owner)).toEqual(read(done))
    expect(() => open('k3JbvwRd dcba')).toThrow(BrokenSeal)
    const failed = await run({ claimed: { idempotency, question: randomBytes(60) } })
    expect(last(failed.changes)).toMatchObject({ outcome: 'internal_error', state: 'answered' })
    expect(stored(failed)).toBeUndefined()
  })

  it('and leaves it to the process that has it now', async () => {
    const done = await run({ commits: [undefined, 'lease_lost'] })
    expect(done.events).toEqual([])
    expect(done.notes).not.toContain(`end ${REFERENCE} verified`)
  })
})

describe('an attempt asks no source', () => {
  it.each([
    ['the key has ended', { hasKey: false }],
    ['the key has lost the scope', { scopes: ['kyc:bvn', 'catalogue:read'] }],
  ])('when %s: the verification is cancelled', async (detail, wish) => {
    const done = await run(wish)
    expect(done.outcome).toEqual({ sourceAttempts: [] })
    expect(done.changes).toEqual([
      {
        ...{ kind: 'finish', reference: REFERENCE, lease: 'node:1', keepMs: 7000 },
        ...{ state: 'cancelled', outcome: 'cancelled', answer: undefined, stored: undefined },
      },
    ])
    expect(done.entries).toEqual([
      {
        ...{ request_reference: REFERENCE, key_id: 'k3JbvwRd', mode: 'live', operation: 'verify_nin' },
        ...{ subject: SUBJECT, phase: 'outcome', outcome: 'cancelled', detail },
      },
    ])
    expect(done.notes).toEqual([`end ${REFERENCE} cancelled`])
    const lost = await run({ ...wish, commits: ['lease_lost'] })
    expect(lost.notes).toEqual([])
  })

  it('when its question cannot be opened: it ends, and the program is told', async () => {
    const done = await run({ claimed: { question: randomBytes(60) } })
    expect(done.outcome).toMatchObject({ sourceAttempts: [], bug: expect.any(Error) })
    expect(done.entries).toMatchObject([
      { outcome: 'internal_error', detail: 'the question cannot be opened' },
    ])
    expect(read(done)).toMatchObject({ status: 500, outcome: 'internal_error' })
    expect(last(done.events)).toMatchObject({ data: { status: 'FAILED', code: 'internal_error' } })
  })

  it.each<[string, Partial<Claimed>, string?]>([
    ['its key is not the one of its row', { lineage: 'other' }],
    ['its row names another key', { keyId: 'other' }, 'other'],
    ['its row names another person', { subject: toBlindIndex(subjectKey, 'nin', '41000000002') }],
    ['its row names another operation', { operation: 'verify_bvn' }],
    [
      'its question is that of another key',
      {
        question: sealQuestion(keyring, REFERENCE, {
          ...{ number: NUMBER, phone: PHONE, caller: { lineage: 'other' } },
        } as never),
      },
    ],
  ])('when it was moved: %s', async (_what, claimed, holder) => {
    const done = await run({ claimed, ...(holder && { holder }), scopes: ['kyc:nin', 'kyc:bvn'] })
    expect(done.outcome).toMatchObject({ sourceAttempts: [], bug: expect.any(BrokenSeal) })
    expect(done.entries).toMatchObject([{ detail: 'the question cannot be opened' }])
  })

  it.each([0, -1])('when its time is over: %i ms are left', async (lifeMs) => {
    const done = await run({ claimed: { lifeMs } })
    expect(done.outcome).toEqual({ sourceAttempts: [] })
    expect(last(done.changes)).toMatchObject({ state: 'expired', outcome: 'expired' })
    expect(read(done)).toMatchObject({ status: 504, outcome: 'expired' })
    expect(done.entries).toMatchObject([{ phase: 'outcome', outcome: 'expired', sources: '[]' }])
    expect(done.events).toMatchObject([{ type: 'verification.expired', data: { status: 'EXPIRED' } }])
    expect(done.notes).toEqual([`end ${REFERENCE} expired`])
    expect((await run({ claimed: { lifeMs }, commits: ['lease_lost'] })).notes).toEqual([])
  })

  it('when no source offers it any more: it ends with the reason', async () => {
    const done = await run({
      answer: new AppError('validation_failed', { errors: { nin: ['a rule'] } }),
    })
    expect(last(done.changes)).toMatchObject({ state: 'answered', outcome: 'validation_failed' })
    expect(last(done.events)).toMatchObject({ data: { status: 'FAILED', code: 'validation_failed' } })
    expect(last(done.entries)).toMatchObject({ phase: 'outcome', outcome: 'validation_failed' })
  })
})

describe('an attempt is repeated', () => {
  const DOWN = new AppError('source_unavailable')
  const retryOf = (done: { changes: unknown[] }) => last(done.changes) as Retry

  it.each([
    [0, 1000],
    [1, 2000],
    [3, 8000],
    [20, 60_000],
  ])('after %i that failed, in %i ms', async (attempts, delayMs) => {
    const done = await run({
      answer: DOWN,
      claimed: { attempts },
      attempts: [{ name: 'dojah', result: 'timeout' }],
    })
    expect(done.changes).toEqual([
      {
        ...{ kind: 'retry', reference: REFERENCE, lease: 'node:1' },
        ...{ delayMs, isAttempt: true, refunded: 0 },
      },
    ])
    expect(last(done.entries)).toMatchObject({ phase: 'attempt', outcome: 'source_unavailable' })
    expect(done.outcome).toEqual({ sourceAttempts: [{ name: 'dojah', result: 'timeout' }] })
    expect(done.notes).toEqual([`guess ${SUBJECT} ${PHONE}`, 'leave false'])
    expect(done.events).toEqual([])
  })

  it.each(['disabled', 'breaker_open', 'spend_cap', 'retry_after', 'paid_calls', 'busy'])(
    'and does not count when all sources were left out: %s',
    async (result) => {
      const attempts = [{ name: 'dojah', result }]
      expect(retryOf(await run({ answer: DOWN, attempts })).isAttempt).toBe(false)
      const one = [...attempts, { name: 'youverify', result: 'unreachable' }]
      expect(retryOf(await run({ answer: DOWN, attempts: one })).isAttempt).toBe(true)
    },
  )

  it('as late as it may be after a call that was paid for', async () => {
    expect(retryOf(await run({ answer: DOWN, pays: 1 })).delayMs).toBe(60_000)
    // Of an earlier attempt.
    expect(retryOf(await run({ answer: DOWN, claimed: { paidCalls: 1 } })).delayMs).toBe(1000)
  })

  it.each([
    'source_bad_response',
    'source_timeout',
    'internal_error',
    'audit_unavailable',
    'overloaded',
  ] as const)('after %s', async (code) =>
    expect(retryOf(await run({ answer: new AppError(code) })).kind).toBe('retry'),
  )

  it('after a mistake of the program, which is told', async () => {
    const bug = new TypeError('a mistake')
    const done = await run({ answer: bug })
    expect(retryOf(done).kind).toBe('retry')
    expect(done.outcome).toMatchObject({ bug })
    expect((await run({ answer: DOWN })).outcome).not.toHaveProperty('bug')
  })

  it('not when its paid calls are used up: it expires', async () => {
    const done = await run({ answer: DOWN, claimed: { paidCalls: 3 } })
    expect(last(done.changes)).toMatchObject({ kind: 'finish', state: 'expired', outcome: 'expired' })
    expect((await run({ answer: DOWN, claimed: { paidCalls: 2 } })).changes).toMatchObject([
      { kind: 'retry' },
    ])
  })
})

describe('an attempt that must not begin', () => {
  it('at a limit ends the verification, and says when it may succeed', async () => {
    const done = await run({ commits: ['quota_exceeded'] })
    expect(done.outcome).toEqual({ sourceAttempts: [] })
    expect(last(done.changes)).toMatchObject({ kind: 'finish', state: 'answered', outcome: 'quota_exceeded' })
    expect(read(done).retryAt).toBeGreaterThan(Date.now())
    expect(done.notes).toEqual([
      `guess ${SUBJECT} ${PHONE}`,
      `end ${REFERENCE} quota_exceeded`,
      'leave false',
    ])
  })

  it.each([
    ['the log', new AppError('audit_unavailable')],
    ['the program', new TypeError('a mistake')],
  ])('because %s fails is made again', async (_name, error) => {
    const done = await run({ commits: [error] })
    expect(done.outcome).toEqual({ thrown: error })
    expect(done.changes).toEqual([])
    expect(done.notes).toEqual([`guess ${SUBJECT} ${PHONE}`, 'leave false'])
  })
})

describe('an answer whose commit fails', () => {
  const LOST = new AppError('audit_unavailable')

  it('is written when the log is back', async () => {
    const done = await run({ commits: [undefined, LOST] })
    expect(done.outcome).toEqual({ thrown: LOST })
    expect([done.changes.length, done.healthy.length, done.events.length]).toEqual([1, 1, 0])
    await done.healthy[0]?.()
    expect(done.changes).toHaveLength(2)
    expect(last(done.changes)).toMatchObject({ kind: 'finish', outcome: 'verified' })
    expect(done.events).toHaveLength(1)
    expect(done.notes).toContain(`end ${REFERENCE} verified`)
  })

  it('is not told of when another process has ended it', async () => {
    const done = await run({ commits: [undefined, LOST, 'lease_lost'] })
    await done.healthy[0]?.()
    expect(done.events).toEqual([])
  })

  it('is tried five times', async () => {
    const done = await run({ commits: [undefined, ...Array(20).fill(LOST)] })
    for (let index = 0; index < done.healthy.length; index++) await done.healthy[index]?.()
    expect(done.healthy).toHaveLength(5)
  })

  it('for another reason is not written later', async () => {
    const done = await run({ commits: [undefined, new Error('a mistake')] })
    expect(done.healthy).toEqual([])
  })
})

describe('the answer to a virtual NIN', () => {
  const VIRTUAL = 'AB012345678910YZ'
  const question = sealQuestion(keyring, REFERENCE, {
    ...{ number: VIRTUAL, phone: PHONE, requestId: 'req_1', origin: 'https://verify.example' },
    caller: {},
  } as never)
  const ofVirtual = { question, subject: toBlindIndex(subjectKey, 'nin', VIRTUAL) }

  it('is found by an erasure of the NIN in it, also of one meanwhile', async () => {
    const done = await run({ claimed: ofVirtual })
    expect((last(done.changes) as Finish).subject).toHaveLength(32)
    expect(done.notes.slice(-2)).toEqual(['erase 32', `end ${REFERENCE} verified`])
    expect((await run()).notes).not.toContain('erase 32')
  })

  it('is none when no source takes a virtual NIN any more, and none is asked', async () => {
    const done = await run({ claimed: ofVirtual, isPlain: true })
    expect(last(done.changes)).toMatchObject({ state: 'answered', outcome: 'validation_failed' })
    expect(done.outcome).toEqual({ sourceAttempts: [] })
  })

  it('is not written later, when an erasure could be missed', async () => {
    const done = await run({ claimed: ofVirtual, commits: [undefined, new AppError('audit_unavailable')] })
    expect(done.healthy).toEqual([])
  })
})
