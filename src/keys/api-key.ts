import { createHmac, type KeyObject } from 'node:crypto'
import type { Mode } from '../contract/scope.ts'
import { createSecretText, hasChecksum } from './secret-text.ts'

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
