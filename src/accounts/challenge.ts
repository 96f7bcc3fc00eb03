import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'

/** A challenge for a passkey: random bytes, the time when it expires, and a signature over both and its purpose. */
export type Challenge = { readonly id: string; readonly expiresAt: number }

const RANDOM_BYTES = 24
const HEAD_BYTES = RANDOM_BYTES + 8
const MAC_BYTES = 32
const LIFE_MS = 5 * MINUTE_MS

const toMac = (key: KeyObject, purpose: string, head: Uint8Array) =>
  createHmac('sha256', key)
    .update(JSON.stringify(['challenge', purpose]))
    .update(head)
    .digest()

/** Nothing is stored: requests of callers that are not signed in must not fill the database. */
export function createChallenge(key: KeyObject, purpose: string): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(HEAD_BYTES)
  randomBytes(RANDOM_BYTES).copy(head)
  head.writeDoubleBE(steadyNow() + LIFE_MS, RANDOM_BYTES)
  return new Uint8Array(Buffer.concat([head, toMac(key, purpose, head)]))
}

/** Undefined if it is not ours, is for another purpose or has expired. Whether it was used is in the store. */
export function readChallenge(key: KeyObject, purpose: string, text: string): Challenge | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length !== HEAD_BYTES + MAC_BYTES) return undefined
  const head = bytes.subarray(0, HEAD_BYTES)
  if (!timingSafeEqual(bytes.subarray(HEAD_BYTES), toMac(key, purpose, head))) return undefined
  const expiresAt = head.readDoubleBE(RANDOM_BYTES)
  return expiresAt > steadyNow() ? { id: head.toString('hex', 0, RANDOM_BYTES), expiresAt } : undefined
}
