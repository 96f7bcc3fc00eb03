import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MODES } from '../../src/contract/scope.ts'
import { createAddressRule, createApiKey, parseApiKey, toKeyHash } from '../../src/keys/api-key.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'

describe('an API key', () => {
  it('has a prefix, a public id, 32 random characters and a checksum', () => {
    for (const mode of MODES) {
      const key = createApiKey(mode)
      expect(key.text).toMatch(new RegExp(`^tbt_${mode}_[0-9A-Za-z]{46}$`))
      expect(key.text.slice(9, 17)).toBe(key.id)
      expect(parseApiKey(key.text)).toEqual(key)
    }
  })

  it('is never the same twice', () => {
    const keys = new Set(Array.from({ length: 1000 }, () => createApiKey('live').text))
    expect(keys.size).toBe(1000)
  })

  it('is refused with one wrong character', () => {
    const { text } = createApiKey('live')
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.stringMatching(/^[0-9A-Za-z]$/), (at, letter) => {
        const typo = text.slice(0, at) + letter + text.slice(at + 1)
        expect(parseApiKey(typo) !== undefined).toBe(typo === text)
      }),
    )
  })

  it('is refused when the text is anything else', () => {
    fc.assert(fc.property(fc.string(), (text) => parseApiKey(text) === undefined))
  })

  it('is stored as its HMAC-SHA-256 under the pepper, from which nobody can compute it', () => {
    const pepper = (fill: number) => createSecretKey(Buffer.alloc(32, fill))
    expect(toKeyHash('x', pepper(1)).toString('hex')).toBe(
      '9a6525695460ebcfaee4b950ffa6c3c733d87c4af567a4bdfd2ae664147b7fc0',
    )
    expect(toKeyHash('x', pepper(1))).not.toEqual(toKeyHash('x', pepper(2)))
  })

  it('is well-formed in the sandbox', () => {
    expect(parseApiKey(SANDBOX_KEY)).toEqual({ mode: 'test', id: 'sandbox0', text: SANDBOX_KEY })
  })
})

describe('the addresses from which a key may be used', () => {
  it('are all, without a list', () => {
    expect(createAddressRule(undefined)('203.0.113.9')).toBe(true)
  })

  it('are those of the list and of its networks, and no others', () => {
    const isAllowed = createAddressRule(['203.0.113.9', '10.1.0.0/16', '2001:db8::1', '2001:db8:1::/48'])
    const allowed = ['203.0.113.9', '::ffff:203.0.113.9', '10.1.255.1', '2001:db8::1', '2001:db8:1::5']
    const refused = ['203.0.113.8', '::ffff:203.0.113.8', '10.2.0.1', '2001:db8::2', '2001:db8:2::5', '::1']
    expect(allowed.filter((address) => !isAllowed(address))).toEqual([])
    expect(refused.filter(isAllowed)).toEqual([])
  })

  it('are none, with an empty list', () => {
    expect(createAddressRule([])('203.0.113.9')).toBe(false)
  })
})
