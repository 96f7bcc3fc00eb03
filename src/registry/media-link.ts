import { type KeyObject, timingSafeEqual } from 'node:crypto'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { toMac } from '../crypto/mac.ts'

/** How long a link to a picture is valid. */
const LINK_LIFE_MS = 15 * MINUTE_MS

const ID_BYTES = 16
const TIME_BYTES = 6
const KEY_ID_BYTES = 8
const SIGNATURE_BYTES = 16
const BODY_BYTES = ID_BYTES + TIME_BYTES + KEY_ID_BYTES

/** A picture, and the API key whose answer linked to it. */
type MediaLink = { readonly mediaId: Buffer; readonly keyId: string }

/** Placeholder in a registry record. The link is made for each API key that asks. */
const MARK = 'registry-picture:'

export const toPictureMark = (mediaId: string | null): string => (mediaId === null ? '' : MARK + mediaId)

/** The id of the picture in hex. */
const readPictureMark = (imageUrl: string): string | undefined =>
  imageUrl.startsWith(MARK) ? imageUrl.slice(MARK.length) : undefined

/** Replaces the placeholder by a link for this API key. Any other address is returned unchanged. */
export function toPicturePath(key: KeyObject, imageUrl: string, keyId: string): string {
  const mediaId = readPictureMark(imageUrl)
  return mediaId === undefined ? imageUrl : toMediaPath(key, mediaId, keyId)
}

/** A path that shows a picture without a credential, until it expires or its API key ends. It names no person. */
function toMediaPath(key: KeyObject, mediaId: string, keyId: string, now = steadyNow()): string {
  const bytes = Buffer.alloc(BODY_BYTES + SIGNATURE_BYTES)
  bytes.write(mediaId, 'hex')
  bytes.writeUIntBE(now + LINK_LIFE_MS, ID_BYTES, TIME_BYTES)
  bytes.write(keyId, ID_BYTES + TIME_BYTES, KEY_ID_BYTES, 'latin1')
  bytes.set(sign(key, bytes.subarray(0, BODY_BYTES)), BODY_BYTES)
  return `/media/${bytes.toString('base64url')}`
}

/** A path as those of `toMediaPath`, at the end of a text in JSON. */
const TOKENS = new RegExp(`/media/([\\w-]{${Math.ceil(((BODY_BYTES + SIGNATURE_BYTES) * 4) / 3)}})(?=")`, 'g')

/** The links to pictures in a stored answer, made again for the API key that reads it. Others are returned unchanged. */
export const renewMediaLinks = (key: KeyObject, json: string, keyId: string): string =>
  json.replace(TOKENS, (path, token: string) => {
    const link = readToken(key, token)
    return link ? toMediaPath(key, link.mediaId.toString('hex'), keyId) : path
  })

/** Undefined when the link is forged, changed or expired. Does not check whether its API key is still valid. */
export function openMediaToken(key: KeyObject, token: string, now = steadyNow()): MediaLink | undefined {
  const link = readToken(key, token)
  return link && link.expiresAt > now ? link : undefined
}

/** Undefined when the link is forged or changed. */
function readToken(key: KeyObject, token: string): (MediaLink & { readonly expiresAt: number }) | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== BODY_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== token) return undefined
  const body = bytes.subarray(0, BODY_BYTES)
  if (!timingSafeEqual(sign(key, body), bytes.subarray(BODY_BYTES))) return undefined
  return {
    mediaId: body.subarray(0, ID_BYTES),
    keyId: body.toString('latin1', ID_BYTES + TIME_BYTES),
    expiresAt: body.readUIntBE(ID_BYTES, TIME_BYTES),
  }
}

const sign = (key: KeyObject, body: Uint8Array) => toMac(key, body).subarray(0, SIGNATURE_BYTES)
