import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { openKeyring } from '../../src/crypto/keyring.ts'
import { toBlindIndexText } from '../../src/crypto/mac.ts'
import { parseRootKey } from '../../src/crypto/root-key.ts'
import { createKeyedHashes } from './keyed-hash.ts'

it('gives the hashes that the product stores', () => {
  const text = randomBytes(32).toString('base64')
  const state = { fingerprint: undefined, version: 1, previousFingerprint: undefined, carried: undefined }
  const root = parseRootKey(text, 'a test')
  const keyring = openKeyring({ candidates: [root], origin: 'setting', where: 'a test' }, state)
  const { subject, record, reused } = createKeyedHashes(`${text}\n`)
  const number = '40000000001'
  expect(subject(number)).toBe(toBlindIndexText(keyring.subject, 'nin', number))
  expect(record(number)).toBe(toBlindIndexText(keyring['blind-index'], 'nin', number))
  expect(reused(number)).toBe(toBlindIndexText(keyring['reuse-index'], 'nin', number))
})
