import { type KeyObject, randomBytes } from 'node:crypto'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import { UserError } from '../errors.ts'

const SECRET_BYTES = 20
const SETUP_MS = 10 * MINUTE_MS

const toData = (purpose: 'totp' | 'totp-setup', account: string) =>
  toAssociatedData(purpose, Buffer.from(account), 1)

/** The secret as it is stored, bound to its account. */
export const sealTotp = (key: KeyObject, account: string, secret: Uint8Array): Buffer =>
  seal(key, secret, toData('totp', account))

export const unsealTotp = (key: KeyObject, account: string, sealed: Uint8Array): Buffer =>
  unseal(key, sealed, toData('totp', account))

/** A new secret, and a token from which it is read when it is confirmed. Nothing is stored before that. */
export function createSetup(key: KeyObject, account: string): { secret: Buffer; token: string } {
  const secret = randomBytes(SECRET_BYTES)
  const expiresAt = Buffer.alloc(8)
  expiresAt.writeDoubleBE(steadyNow() + SETUP_MS)
  const token = seal(key, Buffer.concat([expiresAt, secret]), toData('totp-setup', account))
  return { secret, token: token.toString('base64url') }
}

export function readSetup(key: KeyObject, account: string, token: string): Buffer {
  const plain = openSetup(key, account, token)
  if (!plain || plain.readDoubleBE(0) <= steadyNow())
    throw new UserError('This set-up has expired. Begin again, and scan the new picture.')
  return plain.subarray(8)
}

function openSetup(key: KeyObject, account: string, token: string): Buffer | undefined {
  try {
    const plain = unseal(key, Buffer.from(token, 'base64url'), toData('totp-setup', account))
    return plain.length === 8 + SECRET_BYTES ? plain : undefined
  } catch {
    return undefined
  }
}
