import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Keyring } from '../../src/crypto/keyring.ts'
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

it('opens a response that it has stored', () => {
  const sealed = sealStoredResponse(keyring, name, response)
  expect(openStoredResponse(keyring, name, sealed)).toEqual(response)
})
