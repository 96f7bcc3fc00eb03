import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Keyring } from '../../src/crypto/keyring.ts'
import { BrokenSeal } from '../../src/crypto/seal.ts'
import {
  openStoredResponse,
  type StoredResponse,
  sealStoredResponse,
} from '../../src/verification/idempotency.ts'

const keyring = { idempotency: createSecretKey(randomBytes(32)) } as unknown as Keyring
const name = randomBytes(32)
const response: StoredResponse = {
  status: 200,
  body: JSON.stringify({ success: true, data: { text: 'two\nlines, "quoted"' } }),
  outcome: 'verified',
  reference: 'ver_1',
  released: 'nin_number',
}

it('opens a response of its owner, and of nobody else', () => {
  const sealed = sealStoredResponse(keyring, name, response, 'one')
  expect(openStoredResponse(keyring, name, sealed, 'one')).toEqual(response)
  expect(openStoredResponse(keyring, name, sealed)).toEqual(response)
  expect(() => openStoredResponse(keyring, name, sealed, 'other')).toThrow(BrokenSeal)
})

it('opens a response that 0.3.0 has sealed, which names no owner', () => {
  const sealed = sealStoredResponse(keyring, name, response)
  expect(openStoredResponse(keyring, name, sealed, 'anybody')).toEqual(response)
})
