import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { DAY_MS, steadyNow } from '../../src/contract/time.ts'
import type { Keyring } from '../../src/crypto/keyring.ts'
import { AppError } from '../../src/errors.ts'
import {
  type CallBudget,
  finalError,
  hashKeyUse,
  type IdempotencyClaim,
  isSourceFailure,
  openIdempotency,
  sealStoredResponse,
} from '../../src/verification/idempotency.ts'

const keyring = { idempotency: createSecretKey(randomBytes(32)) } as unknown as Keyring
const USE = {
  ...{ keyId: 'k', operation: 'verify_nin', reference: 'ver_1', header: 'order-1', request: ['1', '2', ''] },
  subject: 'abcd',
}
const RESPONSE = {
  ...{ status: 200, body: '{"a":1}', outcome: 'verified', reference: 'ver_0', released: 'nin_number' },
}

/** Idempotency-Keys on a table that answers as the test says. */
function open(result: object | Error = { state: 'claimed', paidCalls: 0, lastFailure: null }) {
  const claims: { now: number; expiresAt: number; leaseMs: number; subject: unknown; owner: string }[] = []
  const calls: string[] = []
  const table = {
    claim: async (claim: (typeof claims)[number]) => {
      claims.push(claim)
      if (result instanceof Error) throw result
      return result
    },
    release: async (id: { owner: string }, failure: string | null) =>
      void calls.push(`release ${id.owner} ${failure}`),
    deleteExpired: async () => 3,
  }
  const audit = { owner: 'node', requireHealthy: () => {}, onceHealthy: () => {} }
  const erasure = { eraseLate: async () => {} }
  const idempotency = openIdempotency(
    { paidCalls: 3 },
    { idempotency: table as never, erasure },
    keyring,
    audit as never,
    { deadBefore: () => undefined },
  )
  return { idempotency, claims, calls }
}

const claimOf = async (idempotency: ReturnType<typeof open>['idempotency']) => {
  const begun = await idempotency.begin(USE)
  if (!('claim' in begun)) throw new Error('no claim')
  return begun.claim
}

describe('an Idempotency-Key', () => {
  it('is claimed by its request alone, for thirty seconds, and known for a day', async () => {
    const { idempotency, claims } = open()
    const claim = await claimOf(idempotency)
    expect(claim).toMatchObject({ isHeld: true, used: 0, most: 3, lastFailure: undefined })
    expect(claim.payer).toBe(claim.id)
    expect(claims).toHaveLength(1)
    expect(claims[0]).toMatchObject({
      owner: 'node:ver_1',
      leaseMs: 30_000,
      subject: Buffer.from('abcd', 'hex'),
    })
    expect((claims[0]?.expiresAt ?? 0) - (claims[0]?.now ?? 0)).toBe(DAY_MS)
  })

  it('of a virtual NIN does not name the person', async () => {
    const { idempotency, claims } = open()
    await idempotency.begin({ ...USE, isVirtual: true })
    expect(claims[0]?.subject).toBeNull()
  })

  it('that was used before has the paid calls and the failure of that time', async () => {
    const { idempotency } = open({ state: 'claimed', paidCalls: 2, lastFailure: 'source_timeout' })
    expect(await claimOf(idempotency)).toMatchObject({ used: 2, lastFailure: 'source_timeout' })
  })

  it('with a response gives it byte for byte', async () => {
    const { name } = hashKeyUse(keyring.idempotency, USE)
    const sealed = sealStoredResponse(keyring, name, RESPONSE)
    const { idempotency } = open({ state: 'done', sealed })
    expect(await idempotency.begin(USE)).toEqual({ stored: RESPONSE })
  })

  it.each([
    ['node:ver_7', 'ver_7'],
    ['another node', undefined],
    [undefined, undefined],
  ])('of a request that runs is refused, with its reference: %s', async (owner, reference) => {
    const error = await open({ state: 'running', owner })
      .idempotency.begin(USE)
      .catch((thrown) => thrown)
    expect([error.code, error.reference]).toEqual(['idempotency_in_progress', reference])
  })

  it('of another request is refused', async () => {
    await expect(open({ state: 'reused' }).idempotency.begin(USE)).rejects.toHaveProperty(
      'code',
      'idempotency_key_reused',
    )
  })

  it('whose claim may or may not be written is released before it is used again', async () => {
    const { idempotency, calls } = open(new Error('lost'))
    await expect(idempotency.begin(USE)).rejects.toThrow('lost')
    expect(calls).toEqual([])
    await expect(idempotency.begin({ ...USE, reference: 'ver_2' })).rejects.toThrow('lost')
    expect(calls).toEqual(['release node:ver_1 null'])
    expect(await idempotency.deleteExpired()).toBe(3)
    await expect(idempotency.begin({ ...USE, reference: 'ver_3' })).rejects.toThrow('lost')
    expect(calls).toHaveLength(1)
  })

  it('is written with the paid calls that are about to be made, and with its response', async () => {
    const { idempotency } = open()
    const claim = await claimOf(idempotency)
    const now = steadyNow()
    const { expiresAt, leaseMs, paidCalls, owner } = idempotency.toNewClaim(claim, 1)
    expect({ leaseMs, paidCalls, owner }).toEqual({ leaseMs: 30_000, paidCalls: 1, owner: 'node:ver_1' })
    const completion = idempotency.complete(claim, RESPONSE)
    expect(completion.claim).toBe(claim.id)
    for (const at of [expiresAt, completion.expiresAt as number]) {
      expect(at).toBeGreaterThanOrEqual(now + DAY_MS)
      expect(at).toBeLessThan(now + 2 * DAY_MS)
    }
  })

  it.each([
    [new AppError('source_timeout'), 'source_timeout'],
    [new AppError('source_unavailable'), 'source_unavailable'],
    [new AppError('source_bad_response'), 'source_bad_response'],
    [new AppError('quota_exceeded'), null],
    [new Error('source_timeout'), null],
  ])('is given up with the failure of a source, and no other: %s', async (error, failure) => {
    const { idempotency, calls } = open()
    const claim = await claimOf(idempotency)
    expect(idempotency.toRelease(claim, error, 1)).toEqual({ claim: claim.id, refunded: 1, failure })
    await idempotency.release(claim, error)
    expect(calls).toEqual([`release node:ver_1 ${failure}`])
    expect(isSourceFailure(error)).toBe(failure !== null)
  })
})

describe('the hashes of an Idempotency-Key', () => {
  const hash = (changes: Partial<typeof USE>) => {
    const { name, fingerprint } = hashKeyUse(keyring.idempotency, { ...USE, ...changes })
    return [name.toString('hex'), fingerprint.toString('hex')]
  }

  it('are those of its header, and of the operation and the inputs', () => {
    const [name, fingerprint] = hash({})
    expect([name?.length, fingerprint?.length]).toEqual([64, 64])
    expect(name).not.toBe(fingerprint)
    expect(hash({ header: 'order-2' })[0]).not.toBe(name)
    expect(hash({ header: 'order-2' })[1]).toBe(fingerprint)
    expect(hash({ request: ['1', '2', '3'] })).toEqual([
      name,
      expect.not.stringMatching(fingerprint as string),
    ])
    expect(hash({ operation: 'verify_bvn' })[1]).not.toBe(fingerprint)
    expect(hash({ request: ['12', '', ''] })[1]).not.toBe(fingerprint)
  })

  it.each(['!', '~'.repeat(255)])('are made of %j', (header) => expect(hash({ header })).toHaveLength(2))

  it.each(['', 'a b', 'é', 'x'.repeat(256), 'a\n'])('are not made of %j', (header) => {
    expect(() => hash({ header })).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        errors: { 'Idempotency-Key': [expect.any(String)] },
      }),
    )
  })
})

describe('a failure when the paid calls are used up', () => {
  const toBudget = (used: number, lastFailure?: 'source_timeout'): CallBudget =>
    ({ used, most: 2, lastFailure, payer: {} }) as unknown as IdempotencyClaim
  const cause = new Error('dojah')

  it('says so, with the failure of the last paid call where no source was asked', () => {
    const asked = finalError(new AppError('source_unavailable', { cause }), toBudget(2, 'source_timeout'))
    expect(asked).toMatchObject({ code: 'source_unavailable', paidCallsUsedUp: true, cause })
    const unasked = finalError(new AppError('source_unavailable'), toBudget(2, 'source_timeout'))
    expect(unasked).toMatchObject({ code: 'source_timeout', paidCallsUsedUp: true })
    expect(finalError(new AppError('source_unavailable'), toBudget(3))).toMatchObject({
      ...{ code: 'source_unavailable', paidCallsUsedUp: true },
    })
  })

  it('is as it is while calls are left, without a budget, and where no source failed', () => {
    const error = new AppError('source_unavailable')
    expect(finalError(error, toBudget(1))).toBe(error)
    expect(finalError(error, undefined)).toBe(error)
    const other = new AppError('quota_exceeded')
    expect(finalError(other, toBudget(2))).toBe(other)
  })
})
