import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { DAY_MS } from '../../src/contract/time.ts'
import type { Keyring } from '../../src/crypto/keyring.ts'
import { createLocalIdempotency } from '../../src/verification/open-local.ts'

const keyring = { idempotency: createSecretKey(randomBytes(32)) } as unknown as Keyring
const RESPONSE = { status: 200, body: '{}', outcome: 'verified', reference: 'ver_0', released: null }
const toUse = (changes: object = {}) => ({
  ...{ keyId: 'k', operation: 'verify_nin', reference: 'ver_1', header: 'order-1', subject: 'abcd' },
  request: ['1', '2'],
  ...changes,
})
const codeOf = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    return (error as { code: string }).code
  }
  return undefined
}
const open = () => createLocalIdempotency(keyring, 'node')

describe('an Idempotency-Key of this process', () => {
  it('is used by one request at a time, and can be used again after its end', () => {
    const { begin, end } = open()
    const first = begin(toUse())
    expect(codeOf(() => begin(toUse({ reference: 'ver_2' })))).toBe('idempotency_in_progress')
    end(first)
    const second = begin(toUse({ reference: 'ver_3' }))
    // The end of another request with the same key does not end this one.
    end(first)
    expect(codeOf(() => begin(toUse({ reference: 'ver_4' })))).toBe('idempotency_in_progress')
    end(second)
    expect(begin(toUse()).reference).toBe('ver_1')
  })

  it('is refused for another request, and is another one for another API key or operation', () => {
    const { begin, join } = open()
    begin(toUse())
    expect(codeOf(() => begin(toUse({ request: ['1', '3'] })))).toBe('idempotency_key_reused')
    expect(codeOf(() => join(toUse({ request: ['1', '3'] })))).toBe('idempotency_key_reused')
    expect(codeOf(() => begin(toUse({ keyId: 'other' })))).toBeUndefined()
    expect(codeOf(() => begin(toUse({ operation: 'verify_bvn' })))).toBeUndefined()
    expect(codeOf(() => begin(toUse({ header: 'order-2' })))).toBeUndefined()
  })

  it('may be joined by the same request, which then knows of it', () => {
    const { join, end } = open()
    const first = join(toUse())
    expect(first.isKnown).toBe(false)
    expect(join(toUse({ reference: 'ver_2' })).isKnown).toBe(true)
    end(first.key)
    expect(join(toUse()).isKnown).toBe(false)
  })

  it('is likely to have a response after one was stored or remembered', () => {
    const { begin, end, join, isLikelyStored, toAnswer, remember } = open()
    const stored = begin(toUse())
    expect(isLikelyStored(stored)).toBe(false)
    toAnswer(stored, RESPONSE, undefined)
    expect(isLikelyStored(stored)).toBe(true)
    end(stored)
    expect(join(toUse()).isKnown).toBe(true)
    const other = begin(toUse({ header: 'order-2' }))
    expect(isLikelyStored(other)).toBe(false)
    remember(other)
    expect(isLikelyStored(other)).toBe(true)
  })

  it('is written with its hashes, its owner and a day of life', () => {
    const now = Date.parse('2051-01-02T03:04:05Z')
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now })
    onTestFinished(() => void vi.useRealTimers())
    const { begin, toAnswer, read } = open()
    const key = begin(toUse())
    const answer = toAnswer(key, RESPONSE, 'ff')
    expect(answer).toMatchObject({
      ...{ keyId: 'k', operation: 'verify_nin', subject: 'abcd', owner: 'node', record: 'ff' },
      ...{ name: key.name.toString('hex'), fingerprint: key.fingerprint.toString('hex') },
      expiresAt: now + DAY_MS,
    })
    const stored = { fingerprint: key.fingerprint, sealed: answer.sealed, leaseUntil: 0, expiresAt: now + 1 }
    expect(read(key, stored)).toEqual(RESPONSE)
    expect(read(key, { ...stored, expiresAt: now })).toBeUndefined()
    expect(read(key, undefined)).toBeUndefined()
    const other = { ...stored, fingerprint: Buffer.alloc(32) }
    expect(codeOf(() => read(key, other))).toBe('idempotency_key_reused')
    expect(read(key, { ...other, expiresAt: now })).toBeUndefined()
    // A request that runs on another node keeps its key, also after its day.
    const running = { ...stored, sealed: null, leaseUntil: now + 1 }
    expect(codeOf(() => read(key, running))).toBe('idempotency_in_progress')
    expect(codeOf(() => read(key, { ...running, expiresAt: now }))).toBe('idempotency_in_progress')
    expect(read(key, { ...running, leaseUntil: now })).toBeUndefined()
    expect(read(key, { ...running, leaseUntil: now, expiresAt: now })).toBeUndefined()
  })
})
