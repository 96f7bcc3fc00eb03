import { createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMacWriter, toMac, toTextMac } from '../../src/crypto/mac.ts'

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

  it('is the same when it is written, whatever was written before', () => {
    const key = createSecretKey(Buffer.alloc(32, 1))
    const writer = createMacWriter(key, 'nin:')
    const target = Buffer.alloc(40)
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 4 }), fc.nat(8), (parts, at) => {
        for (const part of parts) {
          const middle = Math.floor(part.length / 2)
          writer.put(part, 0, middle)
          writer.put(part, middle, part.length)
        }
        writer.write(target, at)
        expect(target.subarray(at, at + 32)).toEqual(toMac(key, Buffer.from('nin:'), ...parts))
      }),
    )
  })

  it('refuses a key that would have to be hashed first', () => {
    expect(() => toMac(createSecretKey(Buffer.alloc(65)), Buffer.alloc(1))).toThrow(/longer than a block/)
  })
})
