import { hash, type KeyObject } from 'node:crypto'

const BLOCK_BYTES = 64

/** The first blocks of the inner and the outer hash of a key. */
type Pads = { readonly inner: Buffer; readonly outer: Buffer }

const padsOf = new WeakMap<KeyObject, Pads>()

/**
 * HMAC-SHA-256 (RFC 2104) from two plain hashes. Same result as createHmac in half the time: an import computes two for each
 * of a million records. The key has at most 64 bytes.
 */
export function toMac(key: KeyObject, ...parts: readonly Uint8Array[]): Buffer {
  const { inner, outer } = padsOf.get(key) ?? toPads(key)
  let end = BLOCK_BYTES
  for (const { length } of parts) end += length
  if (end > scratch.length) scratch = Buffer.alloc(end * 2)
  scratch.set(inner)
  end = BLOCK_BYTES
  for (const part of parts) {
    scratch.set(part, end)
    end += part.length
  }
  return Buffer.from(finish(outer, end, 'binary'), 'binary')
}

/** The outer hash over that of the first bytes of the scratch. Through strings: a native buffer costs more than the hash. */
function finish(outer: Buffer, end: number, encoding: 'binary' | 'hex'): string {
  outerScratch.set(outer)
  outerScratch.write(hash('sha256', scratch.subarray(0, end), 'binary'), BLOCK_BYTES, 'binary')
  return hash('sha256', outerScratch, encoding)
}

function toPads(key: KeyObject): Pads {
  const bytes = key.export()
  if (bytes.length > BLOCK_BYTES) throw new Error('the key is longer than a block of the hash')
  const pad = (value: number) =>
    Buffer.from(Array.from({ length: BLOCK_BYTES }, (_, index) => (bytes[index] ?? 0) ^ value))
  const pads = { inner: pad(0x36), outer: pad(0x5c) }
  padsOf.set(key, pads)
  return pads
}

/** Units of a short text, of which each takes three bytes at most. */
const MOST_TEXT = 128
/** Room for the inner pad and the parts; at least for a short text. */
let scratch = Buffer.alloc(BLOCK_BYTES + 2048)
const outerScratch = Buffer.alloc(BLOCK_BYTES + 32)

/** The same for a short text, in hex: every verification computes one. */
export function toTextMac(key: KeyObject, text: string): string {
  if (text.length > MOST_TEXT) return toMac(key, Buffer.from(text)).toString('hex')
  const { inner, outer } = padsOf.get(key) ?? toPads(key)
  scratch.set(inner)
  return finish(outer, BLOCK_BYTES + scratch.write(text, BLOCK_BYTES), 'hex')
}
