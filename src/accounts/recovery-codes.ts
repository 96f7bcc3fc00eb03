import { type KeyObject, randomInt } from 'node:crypto'
import { toTextMac } from '../crypto/mac.ts'

const CODES = 10
const GROUPS = 3
const GROUP_LENGTH = 5
/** Without letters and digits that look alike: i, l, o, u, 0, 1. */
const ALPHABET = 'abcdefghjkmnpqrstvwxyz23456789'

const createGroup = () =>
  Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')

/** Each has 73 random bits, so it needs no slow hash. */
export const createRecoveryCodes = (): string[] =>
  Array.from({ length: CODES }, () => Array.from({ length: GROUPS }, createGroup).join('-'))

/** The hash that the store keeps: keyed, and bound to the account. Case, spaces and hyphens do not matter. */
export const toRecoveryHash = (key: KeyObject, account: string, code: string): string =>
  toTextMac(key, JSON.stringify(['recovery-code', account, code.toLowerCase().replaceAll(/[\s-]/g, '')]))
