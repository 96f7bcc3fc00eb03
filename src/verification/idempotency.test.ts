import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Keyring } from '../crypto/keyring.ts'
import { toAssociatedData, unseal } from '../crypto/seal.ts'
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

it.each(['whole', 'apart'] as const)('opens a response that is stored %s', (format) => {
  const sealed = sealStoredResponse(keyring, name, response, format)
  expect(openStoredResponse(keyring, name, sealed)).toEqual(response)
})

it('stores a response as nodes of 0.2 read it, unless told otherwise', () => {
  const sealed = sealStoredResponse(keyring, name, response)
  const text = unseal(keyring.idempotency, sealed, toAssociatedData('idempotency', name, 1)).toString()
  expect(JSON.parse(text)).toEqual(response)
})
