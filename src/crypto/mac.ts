import { hash, type KeyObject } from 'node:crypto'
import { isVirtualNin } from '../contract/person.ts'

const BLOCK_BYTES = 64
export const MAC_BYTES = 32

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
const MAX_TEXT = 128
/** Room for the inner pad and the parts; at least for a short text. */
let scratch = Buffer.alloc(BLOCK_BYTES + 2048)
const outerScratch = Buffer.alloc(BLOCK_BYTES + MAC_BYTES)

/** The same for a short text, in hex: every verification computes one. */
export function toTextMac(key: KeyObject, text: string): string {
  if (text.length > MAX_TEXT) return toMac(key, Buffer.from(text)).toString('hex')
  const { inner, outer } = padsOf.get(key) ?? toPads(key)
  scratch.set(inner)
  return finish(outer, BLOCK_BYTES + scratch.write(text, BLOCK_BYTES), 'hex')
}

/** Computes many MACs under one key: parts are put in order, then the MAC is written. */
type MacWriter = {
  readonly put: (bytes: Uint8Array, from: number, to: number) => void
  /** Writes 32 bytes to the target. The next part begins the next message. */
  readonly write: (target: Buffer, at: number) => void
}

/** `prefix` begins every message. */
export function createMacWriter(key: KeyObject, prefix = ''): MacWriter {
  const { inner, outer } = padsOf.get(key) ?? toPads(key)
  const beginning = Buffer.concat([inner, Buffer.from(prefix)])
  const outerMemory = Buffer.concat([outer, Buffer.alloc(MAC_BYTES)])
  let memory = Buffer.concat([beginning, Buffer.alloc(2048)])
  let end = beginning.length
  return {
    put: (bytes, from, to) => {
      const size = to - from
      if (end + size > memory.length) memory = Buffer.concat([memory, Buffer.alloc(memory.length + size)])
      if (size === bytes.length) memory.set(bytes, end)
      else for (let index = 0; index < size; index++) memory[end + index] = bytes[from + index] as number
      end += size
    },
    write: (target, at) => {
      outerMemory.write(hash('sha256', memory.subarray(0, end), 'binary'), BLOCK_BYTES, 'binary')
      target.write(hash('sha256', outerMemory, 'binary'), at, 'binary')
      end = beginning.length
    },
  }
}

export const KINDS = ['nin', 'bvn'] as const
export type Kind = (typeof KINDS)[number]

/**
 * The only way to find a record by its number. A plain hash of eleven digits is reversed in minutes; this one needs a key that
 * is not in the database.
 */
export const toBlindIndex = (key: KeyObject, kind: Kind, number: string): Buffer =>
  Buffer.from(toBlindIndexText(key, kind, number), 'hex')

/** The same in hex. Virtual NINs have a domain of their own. */
export const toBlindIndexText = (key: KeyObject, kind: Kind, number: string): string =>
  toTextMac(key, `${isVirtualNin(number) ? 'vnin' : kind}:${number}`)
