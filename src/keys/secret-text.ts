import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 8
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6

/** A public id and the secret as a whole. */
export type SecretText = { readonly id: string; readonly text: string }

/** Prefix, public id, 190 random bits, checksum of all before it. */
export function createSecretText(prefix: string, id = randomBase62(ID_LENGTH)): SecretText {
  const body = `${prefix}${id}${randomBase62(SECRET_LENGTH)}`
  return { id, text: body + toChecksum(body) }
}

/** The last six characters. A typing error is found without a database look-up, a leaked secret by a scanner. */
export const hasChecksum = (text: string): boolean =>
  toChecksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)

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
