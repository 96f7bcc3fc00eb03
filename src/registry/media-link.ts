import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { steadyNow } from '../contract/clock.ts'

/** How long a link to a picture works. */
export const LINK_LIFE_MS = 15 * 60_000

const ID_BYTES = 16
const TIME_BYTES = 6
const SIGNATURE_BYTES = 16

/** A path that shows a picture to whoever has it, until it expires. It names a picture, not a person. */
export function toMediaPath(key: KeyObject, mediaId: Uint8Array, now = steadyNow()): string {
  const body = Buffer.alloc(ID_BYTES + TIME_BYTES)
  body.set(mediaId)
  body.writeUIntBE(now + LINK_LIFE_MS, ID_BYTES, TIME_BYTES)
  return `/media/${Buffer.concat([body, sign(key, body)]).toString('base64url')}`
}

/** The id of the picture, or undefined when the link was made up, changed, or has expired. */
export function openMediaToken(key: KeyObject, token: string, now = steadyNow()): Buffer | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== ID_BYTES + TIME_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== token)
    return undefined
  const body = bytes.subarray(0, ID_BYTES + TIME_BYTES)
  if (!timingSafeEqual(sign(key, body), bytes.subarray(body.length))) return undefined
  return body.readUIntBE(ID_BYTES, TIME_BYTES) > now ? body.subarray(0, ID_BYTES) : undefined
}

const sign = (key: KeyObject, body: Uint8Array) =>
  createHmac('sha256', key).update(body).digest().subarray(0, SIGNATURE_BYTES)
