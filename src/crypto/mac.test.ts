import { createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toMac, toTextMac } from './mac.ts'

describe('a message authentication code', () => {
  it('is the one of RFC 4231', () => {
    const key = createSecretKey(Buffer.from('Jefe'))
    expect(toMac(key, Buffer.from('what do ya want '), Buffer.from('for nothing?')).toString('hex')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  it('is the one that Node.js makes, whatever the key and the message', () => {
    const bytes = (most: number) => fc.uint8Array({ minLength: 1, maxLength: most })
    fc.assert(
      fc.property(bytes(64), fc.array(bytes(300)), (secret, parts) => {
        const key = createSecretKey(Buffer.from(secret))
        const expected = createHmac('sha256', key).update(Buffer.concat(parts)).digest()
        expect(toMac(key, ...parts)).toEqual(expected)
      }),
    )
  })

  it('is the same for a text, in hex, whatever came before', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 64 }),
        fc.string({ maxLength: 200 }),
        (secret, text) => {
          const key = createSecretKey(Buffer.from(secret))
          expect(toTextMac(key, text)).toBe(toMac(key, Buffer.from(text)).toString('hex'))
        },
      ),
    )
  })

  it('refuses a key that would have to be hashed first', () => {
    expect(() => toMac(createSecretKey(Buffer.alloc(65)), Buffer.alloc(1))).toThrow(/longer than a block/)
  })
})
