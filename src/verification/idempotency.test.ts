import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Keyring } from '../crypto/keyring.ts'
import { seal, toAssociatedData } from '../crypto/seal.ts'
import { openStoredResponse, type StoredResponse, sealStoredResponse } from './idempotency.ts'

const keyring = { idempotency: createSecretKey(randomBytes(32)) } as unknown as Keyring
const name = randomBytes(32)
const response: StoredResponse = {
  status: 200,
  body: JSON.stringify({ success: true, data: { text: 'two\nlines, "quoted"' } }),
  outcome: 'verified',
  reference: 'ver_1',
  released: 'nin_number',
}

it('opens a stored response', () => {
  expect(openStoredResponse(keyring, name, sealStoredResponse(keyring, name, response))).toEqual(response)
})

it('opens a response whose body is kept apart', () => {
  const bound = toAssociatedData('idempotency', name, 1)
  const { body, ...fields } = response
  const sealed = seal(keyring.idempotency, Buffer.from(`${JSON.stringify(fields)}\n${body}`), bound)
  expect(openStoredResponse(keyring, name, sealed)).toEqual(response)
})
