import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Keyring } from '../../../src/crypto/keyring.ts'
import { toCaller } from '../../../src/keys/caller.ts'
import { withDefaults } from '../../../src/keys/options.ts'
import type { Queued } from '../../../src/ledger/queue-rows.ts'
import { cancelVerification, readVerification } from '../../../src/verification/queue/read-verification.ts'
import { sealAnswer } from '../../../src/verification/queue/sealed-question.ts'

const REFERENCE = 'ver_01kabcdefghjkmnpqrstvwxyz012345678'
const keyring = { idempotency: createSecretKey(randomBytes(32)) } as unknown as Keyring
const NOT_VERIFIED = {
  ...{ status: 422, body: '{"success":false}', outcome: 'not_verified', reference: REFERENCE },
  released: null,
}
const PENDING: Queued = {
  ...{ reference: REFERENCE, keyId: 'k3JbvwRd', mode: 'live', operation: 'verify_nin', state: 'pending' },
  ...{
    subject: Buffer.from('abcd', 'hex'),
    outcome: undefined,
    isRunning: false,
    dueMs: 0,
    answer: undefined,
  },
}
const ANSWERED: Queued = { ...PENDING, state: 'answered', answer: sealAnswer(keyring, NOT_VERIFIED) }

/** A queue that has these rows, one after another, and the last one from then on. */
function open(
  rows: readonly (Queued | undefined)[],
  { scopes = ['kyc:nin'], refusals = [] as string[] } = {},
) {
  const asked: unknown[] = []
  const recorded: unknown[] = []
  const changes: unknown[] = []
  const ended: string[] = []
  const counted: string[] = []
  const left = [...rows]
  const refused = [...refusals]
  const deps = {
    audit: {
      record: async (entries: readonly unknown[]) => void recorded.push(...entries),
      recordChange: async (change: unknown, entries: readonly unknown[]) => {
        changes.push(change)
        recorded.push(...entries)
        return refused.shift()
      },
    },
    pictureKey: () => createSecretKey(Buffer.alloc(32, 2)),
    queue: {
      keyring,
      settings: { keepMs: 7000 },
      signals: { end: (reference: string, outcome: string) => ended.push(`${reference} ${outcome}`) },
      pace: { estimateMs: (before: number) => 1500 + before * 1000, isFull: () => true },
      table: {
        find: async (reference: string, lineage: string) => {
          asked.push([reference, lineage])
          return left.length > 1 ? left.shift() : left[0]
        },
        countBefore: async (reference: string) => {
          counted.push(reference)
          return 4
        },
      },
    },
  }
  const caller = toCaller({
    ...withDefaults({}),
    ...{ id: 'new', lineage: 'first', mode: 'live', scopes: scopes as never },
  })
  const about = (reference = REFERENCE) => ({ reference, caller, requestId: 'req_1' })
  return {
    ...{ asked, recorded, changes, ended, counted },
    read: (reference?: string) => readVerification(deps as never, about(reference)),
    cancel: (reference?: string) => cancelVerification(deps as never, about(reference)),
  }
}

const FIELDS = {
  ...{ request_reference: REFERENCE, key_id: 'new', mode: 'live', operation: 'verify_nin', subject: 'abcd' },
}

describe('a verification of the queue', () => {
  it('is read by the lineage of its key, and each reading of an answer is recorded', async () => {
    const { read, asked, recorded } = open([ANSWERED])
    expect(await read()).toEqual({ ...NOT_VERIFIED, replayed: false, headers: [] })
    expect(asked).toEqual([[REFERENCE, 'first']])
    expect(recorded).toEqual([
      { ...FIELDS, phase: 'replay', outcome: 'not_verified', fields_released: null, detail: null },
    ])
  })

  it('of a BVN is read with the scope of BVNs', async () => {
    const bvn = { ...ANSWERED, operation: 'verify_bvn' }
    await expect(open([bvn]).read()).rejects.toHaveProperty('code', 'not_found')
    expect(await open([bvn], { scopes: ['kyc:bvn'] }).read()).toMatchObject({ status: 422 })
    await expect(open([ANSWERED], { scopes: ['kyc:bvn'] }).read()).rejects.toHaveProperty('code', 'not_found')
  })

  it.each(['', 'ver_', 'ver_UPPER', `${REFERENCE}'`, '41000000001'])(
    'is not looked for under %j',
    async (reference) => {
      const { read, cancel, asked } = open([ANSWERED])
      await expect(read(reference)).rejects.toHaveProperty('code', 'not_found')
      await expect(cancel(reference)).rejects.toHaveProperty('code', 'not_found')
      expect(asked).toEqual([])
    },
  )

  it('that no longer has an answer is gone, and an unknown one is not found', async () => {
    const { read, recorded } = open([{ ...ANSWERED, answer: undefined }])
    await expect(read()).rejects.toHaveProperty('code', 'gone')
    expect(recorded).toEqual([])
    await expect(open([undefined]).read()).rejects.toHaveProperty('code', 'not_found')
  })
})

describe('a pending verification tells when to ask again', () => {
  const retryAfter = async (row: Partial<Queued>) => {
    const { read, counted, recorded } = open([{ ...PENDING, ...row }])
    const { status, outcome, replayed, headers = [] } = await read()
    expect({ status, outcome, replayed }).toEqual({ status: 202, outcome: 'pending', replayed: false })
    expect(headers.slice(0, 3)).toEqual([
      ...['location', `/api/v2/kyc/verifications/${REFERENCE}`, 'retry-after'],
    ])
    expect(recorded).toEqual([])
    return [Number(headers[3]), counted.length]
  }

  it('after one attempt, while it runs', async () => {
    expect(await retryAfter({ isRunning: true, dueMs: 50_000 })).toEqual([2, 0])
  })

  it('after the next attempt, when that is not due', async () => {
    expect(await retryAfter({ dueMs: 10_000 })).toEqual([12, 0])
    expect(await retryAfter({ dueMs: 3_600_000 })).toEqual([60, 0])
  })

  it('after those before it, when it waits for a place', async () => {
    expect(await retryAfter({ dueMs: 0 })).toEqual([6, 1])
    expect(await retryAfter({ dueMs: -5 })).toEqual([6, 1])
  })
})

describe('a pending verification', () => {
  const CANCELLED = {
    ...{ status: 204, body: '', outcome: 'cancelled', reference: REFERENCE, released: null, replayed: false },
  }

  it('is cancelled, which is recorded and told', async () => {
    const { cancel, changes, recorded, ended } = open([PENDING])
    expect(await cancel()).toEqual(CANCELLED)
    expect(changes).toEqual([{ kind: 'cancel', reference: REFERENCE, lineage: 'first', keepMs: 7000 }])
    expect(recorded).toEqual([{ ...FIELDS, phase: 'outcome', outcome: 'cancelled' }])
    expect(ended).toEqual([`${REFERENCE} cancelled`])
  })

  it('that was cancelled before stays so', async () => {
    const { cancel, changes, ended } = open([{ ...PENDING, state: 'cancelled' }])
    expect(await cancel()).toEqual(CANCELLED)
    expect([changes, ended]).toEqual([[], []])
  })

  it.each([
    ['a source is being asked', { ...PENDING, isRunning: true }, 'already_begun'],
    ['it is answered', ANSWERED, 'already_begun'],
    ['it has expired', { ...PENDING, state: 'expired' as const }, 'already_begun'],
    ['its answer was deleted', { ...PENDING, state: 'gone' as const }, 'gone'],
  ])('is not cancelled when %s', async (_name, row, code) => {
    const { cancel, changes } = open([row])
    await expect(cancel()).rejects.toHaveProperty('code', code)
    expect(changes).toEqual([])
  })

  it('that changes meanwhile is read again', async () => {
    const { cancel, changes, ended } = open([PENDING, { ...PENDING, state: 'cancelled' }], {
      refusals: ['not_pending'],
    })
    expect(await cancel()).toEqual(CANCELLED)
    expect([changes.length, ended.length]).toEqual([1, 0])
  })

  it('that changes again and again is given up after five times', async () => {
    const { cancel, changes } = open([PENDING], { refusals: Array(9).fill('not_pending') })
    await expect(cancel()).rejects.toHaveProperty('code', 'already_begun')
    expect(changes).toHaveLength(5)
  })
})
