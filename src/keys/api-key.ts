import { createHmac, type KeyObject, randomInt } from 'node:crypto'
import { BlockList, isIPv6 } from 'node:net'
import { crc32 } from 'node:zlib'
import type { Mode } from '../contract/scope.ts'

/** The parts of a well-formed key. `text` is the secret as a whole. */
export type ApiKey = { readonly mode: Mode; readonly id: string; readonly text: string }

const KEY_PATTERN = /^tbt_(test|live)_([0-9A-Za-z]{8})[0-9A-Za-z]{38}$/

export const createApiKey = (mode: Mode, id?: string): ApiKey => ({
  mode,
  ...createSecretText(`tbt_${mode}_`, id),
})

/** Undefined for malformed text. */
export function parseApiKey(text: string): ApiKey | undefined {
  const match = KEY_PATTERN.exec(text)
  if (!match || !hasChecksum(text)) return undefined
  return { mode: match[1] as Mode, id: match[2] as string, text }
}

/** Only this hash is stored. A random 190-bit key needs no slow hash. The pepper is not in the database. */
export const toKeyHash = (text: string, pepper: KeyObject): Buffer =>
  createHmac('sha256', pepper).update(text).digest()

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

/** Whether a secret may be used from an address. Without a list, from any. */
export function createAddressRule(allowed: readonly string[] | undefined): (address: string) => boolean {
  if (!allowed) return () => true
  const list = new BlockList()
  for (const entry of allowed) {
    const [address = '', bits] = entry.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/, '')
    return list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')
  }
}
