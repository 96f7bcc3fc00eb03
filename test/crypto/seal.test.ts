import { createDecipheriv, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BrokenSeal, SEAL_BYTES, seal, toAssociatedData, unseal, writeSeal } from '../../src/crypto/seal.ts'

const key = createSecretKey(Buffer.alloc(32, 1))
const plain = Buffer.from('a synthetic record')
const bound = toAssociatedData('people', Buffer.from('row 1'), 1)

describe('a sealed value', () => {
  it('is opened again, whatever it holds and whatever it is bound to', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 40 }), (value, data) => {
        const sealed = seal(key, value, data)
        expect(sealed.length).toBe(value.length + SEAL_BYTES)
        expect(unseal(key, sealed, data)).toEqual(Buffer.from(value))
      }),
    )
  })

  it('is AES-256-GCM with a nonce of 12 bytes before and a tag of 16 bytes after the text', () => {
    const sealed = seal(key, plain, bound)
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12)).setAAD(bound)
    decipher.setAuthTag(sealed.subarray(sealed.length - 16))
    const opened = Buffer.concat([decipher.update(sealed.subarray(12, sealed.length - 16)), decipher.final()])
    expect(opened).toEqual(plain)
    expect(SEAL_BYTES).toBe(28)
  })

  it('is not opened after a change of any of its bytes', () => {
    const sealed = seal(key, plain, bound)
    for (const index of sealed.keys()) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index)
      expect(() => unseal(key, changed, bound), `byte ${index}`).toThrow(BrokenSeal)
    }
  })

  it('is not opened when bytes are missing or added', () => {
    const sealed = seal(key, plain, bound)
    for (const index of sealed.keys()) {
      expect(() => unseal(key, sealed.subarray(0, index), bound), `${index} bytes`).toThrow(BrokenSeal)
      expect(() => unseal(key, sealed.subarray(index + 1), bound), `from ${index + 1}`).toThrow(BrokenSeal)
    }
    expect(() => unseal(key, Buffer.concat([sealed, Buffer.alloc(1)]), bound)).toThrow(BrokenSeal)
  })

  it('is not opened with another key, and says so with a code and without the value', () => {
    const opening = () => unseal(createSecretKey(Buffer.alloc(32, 2)), seal(key, plain, bound), bound)
    expect(opening).toThrow(
      expect.objectContaining({
        name: 'BrokenSeal',
        code: 'BROKEN_SEAL',
        message: 'a sealed value cannot be opened',
      }),
    )
  })

  it.each([
    ['another table', toAssociatedData('keys', Buffer.from('row 1'), 1)],
    ['another row', toAssociatedData('people', Buffer.from('row 2'), 1)],
    ['another version of the root key', toAssociatedData('people', Buffer.from('row 1'), 2)],
    ['no row', Buffer.alloc(0)],
  ])('is not opened as that of %s', (_what, other) => {
    expect(() => unseal(key, seal(key, plain, bound), other)).toThrow(BrokenSeal)
  })

  it('is written at a place of a larger buffer, and nowhere else', () => {
    const target = Buffer.alloc(100, 0xee)
    writeSeal(target, 20, key, plain, bound)
    const end = 20 + plain.length + SEAL_BYTES
    expect(unseal(key, target.subarray(20, end), bound)).toEqual(plain)
    expect(target.subarray(0, 20)).toEqual(Buffer.alloc(20, 0xee))
    expect(target.subarray(end)).toEqual(Buffer.alloc(100 - end, 0xee))
  })

  it('has a nonce of its own, also when the prepared ones are used up', () => {
    const nonces = Array.from({ length: 1200 }, () => seal(key, plain, bound).toString('hex', 0, 12))
    expect(new Set(nonces).size).toBe(nonces.length)
    // Two that share a part overlap in the pool.
    const halves = nonces.flatMap((nonce) => [nonce.slice(0, 12), nonce.slice(12)])
    expect(new Set(halves).size).toBe(halves.length)
  })
})

it('the data that a value is bound to keeps its spelling: stored rows could not be opened otherwise', () => {
  expect(toAssociatedData('people', Buffer.from([0, 255]), 12)).toEqual(
    Buffer.concat([Buffer.from('people:12:'), Buffer.from([0, 255])]),
  )
})
