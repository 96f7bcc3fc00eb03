import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { DAY_MS } from '../../src/contract/time.ts'
import type { Keyring } from '../../src/crypto/keyring.ts'
import { AppError } from '../../src/errors.ts'
import type { StoredResponse } from '../../src/verification/idempotency.ts'
import { createLocalIdempotency } from '../../src/verification/open-local.ts'

const keyring = { idempotency: createSecretKey(randomBytes(32)) } as unknown as Keyring
const response: StoredResponse = {
  ...{ status: 200, body: '{}', outcome: 'verified', released: null },
  reference: 'ver_1',
}

it('tells the reference of the verification that is in progress or was answered, never that of a replay', () => {
  const { begin, toAnswer, end, read } = createLocalIdempotency(keyring, 'node')
  const start = (reference: string) =>
    begin({
      ...{ keyId: 'key', operation: 'verify_nin', header: 'order-1', request: ['1', '2'], subject: '00' },
      reference,
    })
  const refused = () => {
    try {
      start('ver_3')
    } catch (error) {
      if (error instanceof AppError) return [error.code, error.reference]
    }
    throw new Error('not refused')
  }
  const first = start('ver_1')
  expect(refused()).toEqual(['idempotency_in_progress', 'ver_1'])
  const { sealed } = toAnswer(first, response, undefined)
  end(first)
  const replay = start('ver_2')
  expect(refused()).toEqual(['idempotency_in_progress', undefined])
  const { fingerprint } = replay
  read(replay, { fingerprint, sealed, leaseUntil: 0, expiresAt: Date.now() + DAY_MS })
  expect(refused()).toEqual(['idempotency_in_progress', 'ver_1'])
})
