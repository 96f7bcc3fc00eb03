import { createSecretKey } from 'node:crypto'
import { afterEach, expect, it, vi } from 'vitest'
import { createChallenge, readChallenge } from '../../src/accounts/passkeys.ts'

const KEY = createSecretKey(Buffer.alloc(32, 7))
const create = (purpose: string) => Buffer.from(createChallenge(KEY, purpose)).toString('base64url')

afterEach(() => vi.useRealTimers())

it('a challenge is read with its own purpose and key only', () => {
  const text = create('sign-in')
  expect(readChallenge(KEY, 'sign-in', text)).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{48}$/) })
  expect(readChallenge(KEY, 'add ada', text)).toBeUndefined()
  expect(readChallenge(createSecretKey(Buffer.alloc(32, 8)), 'sign-in', text)).toBeUndefined()
})

it('no two challenges are the same', () => {
  expect(new Set(Array.from({ length: 100 }, () => create('sign-in'))).size).toBe(100)
})

it.each(['', 'AAAA', 'é'])('%j is no challenge', (text) => {
  expect(readChallenge(KEY, 'sign-in', text)).toBeUndefined()
})

it('a changed challenge is not read, also if only its expiry was changed', () => {
  const bytes = createChallenge(KEY, 'sign-in')
  for (const index of [0, 25, 31, 40]) {
    const changed = Buffer.from(bytes)
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(readChallenge(KEY, 'sign-in', changed.toString('base64url'))).toBeUndefined()
  }
})

it('a challenge expires after five minutes', () => {
  const text = create('sign-in')
  vi.useFakeTimers({ now: Date.now() + 299_000, toFake: ['Date'] })
  expect(readChallenge(KEY, 'sign-in', text)).toBeDefined()
  vi.setSystemTime(Date.now() + 2000)
  expect(readChallenge(KEY, 'sign-in', text)).toBeUndefined()
})
