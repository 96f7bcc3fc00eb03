import { createHmac, timingSafeEqual } from 'node:crypto'

type TotpOptions = { readonly digits?: number; readonly hash?: 'sha1' | 'sha256' | 'sha512' }

const STEP_MS = 30_000
/** Steps before and after the present one that are accepted, because clocks differ. */
const TOLERANCE = 1

export const toStep = (at: number) => Math.floor(at / STEP_MS)

/** The one-time password of a step (RFC 6238, RFC 4226). Authenticator apps expect SHA-1 and six digits. */
export function toCode(
  secret: Uint8Array,
  step: number,
  { digits = 6, hash = 'sha1' }: TotpOptions = {},
): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac(hash, secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 0x0f
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/** The step after `lastStep` whose code this is; undefined if the code is wrong, or was used before. */
export function findStep(secret: Uint8Array, code: string, at: number, lastStep: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined
  const now = toStep(at)
  const steps = Array.from({ length: 2 * TOLERANCE + 1 }, (_, index) => now - TOLERANCE + index)
  const isRight = (step: number) =>
    step >= 0 && timingSafeEqual(Buffer.from(toCode(secret, step)), Buffer.from(code))
  return steps.filter((step) => step > lastStep).find(isRight)
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Base32 (RFC 4648) without padding, as authenticator apps read it. */
export function toBase32(bytes: Uint8Array): string {
  let [bits, count, text] = [0, 0, '']
  for (const byte of bytes) {
    bits = (bits << 8) | byte
    count += 8
    for (; count >= 5; count -= 5) text += ALPHABET[(bits >>> (count - 5)) & 31]
    bits &= (1 << count) - 1
  }
  return count > 0 ? text + ALPHABET[(bits << (5 - count)) & 31] : text
}

/** What an authenticator app reads from the picture. */
export function toSetupUrl(secret: string, account: string, host: string): string {
  const query = new URLSearchParams({
    secret,
    issuer: 'Tabbat',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
  return `otpauth://totp/Tabbat:${encodeURIComponent(`${account}@${host}`)}?${query}`
}
