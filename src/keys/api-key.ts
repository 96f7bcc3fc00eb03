import { createHmac, type KeyObject, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Mode } from '../contract/scope.ts'

/** Default limit of the people that a key may ask about in a day. */
export const SUBJECTS_PER_DAY = 2000

/** The parts of a well-formed key. `text` is the secret as a whole. */
export type ApiKey = { readonly mode: Mode; readonly id: string; readonly text: string }

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 8
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const KEY_PATTERN = /^tbt_(test|live)_([0-9A-Za-z]{8})[0-9A-Za-z]{38}$/

/** A new key: prefix, public id, 190 random bits, checksum. */
export function createApiKey(mode: Mode, id = randomBase62(ID_LENGTH)): ApiKey {
  const body = `tbt_${mode}_${id}${randomBase62(SECRET_LENGTH)}`
  return { mode, id, text: body + toChecksum(body) }
}

/** Undefined for malformed text. The checksum rejects typing errors without a database look-up. */
export function parseApiKey(text: string): ApiKey | undefined {
  const match = KEY_PATTERN.exec(text)
  if (!match) return undefined
  const body = text.slice(0, -CHECKSUM_LENGTH)
  if (toChecksum(body) !== text.slice(-CHECKSUM_LENGTH)) return undefined
  return { mode: match[1] as Mode, id: match[2] as string, text }
}

/** Only this hash is stored. A random 190-bit key needs no slow hash. The pepper is not in the database. */
export const toKeyHash = (text: string, pepper: KeyObject): Buffer =>
  createHmac('sha256', pepper).update(text).digest()

const randomBase62 = (length: number) => Array.from({ length }, () => BASE62[randomInt(62)]).join('')

function toChecksum(body: string): string {
  let value = crc32(body)
  let digits = ''
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    digits = BASE62[value % 62] + digits
    value = Math.floor(value / 62)
  }
  return digits
}
