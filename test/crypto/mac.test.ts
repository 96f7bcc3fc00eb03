import { createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMacWriter, toBlindIndex, toBlindIndexText, toMac, toTextMac } from '../../src/crypto/mac.ts'

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

  it('is the same for messages around the size of what is kept ready', () => {
    const key = createSecretKey(Buffer.alloc(32, 1))
    const writer = createMacWriter(key)
    const target = Buffer.alloc(32)
    for (const size of [0, 1, 2047, 2048, 2049, 5000, 20_000]) {
      const message = Buffer.alloc(size, 'message')
      const expected = createHmac('sha256', key).update(message).digest()
      expect(toMac(key, message), `${size} bytes`).toEqual(expected)
      writer.put(message, 0, size)
      writer.write(target, 0)
      expect(target, `${size} bytes`).toEqual(expected)
    }
    // 128 and 129 characters of three bytes each.
    for (const text of ['₦'.repeat(128), '₦'.repeat(129)])
      expect(toTextMac(key, text)).toBe(createHmac('sha256', key).update(text).digest('hex'))
  })

  it('refuses a key that would have to be hashed first', () => {
    expect(() => toMac(createSecretKey(Buffer.alloc(65)), Buffer.alloc(1))).toThrow(/longer than a block/)
  })
})

describe('a blind index', () => {
  const key = createSecretKey(Buffer.alloc(32, 1))
  const macOf = (text: string) => createHmac('sha256', key).update(text).digest('hex')

  it.each([
    ['nin', '70123456789', 'nin:70123456789'],
    ['bvn', '70123456789', 'bvn:70123456789'],
    ['nin', 'AB123456789012CD', 'vnin:AB123456789012CD'],
  ] as const)('of a %s %s is in a domain of its own', (kind, number, message) => {
    expect(toBlindIndexText(key, kind, number)).toBe(macOf(message))
    expect(toBlindIndex(key, kind, number)).toEqual(Buffer.from(macOf(message), 'hex'))
  })

  it('differs for another key', () => {
    const other = createSecretKey(Buffer.alloc(32, 2))
    expect(toBlindIndexText(other, 'nin', '70123456789')).not.toBe(
      toBlindIndexText(key, 'nin', '70123456789'),
    )
  })
})
