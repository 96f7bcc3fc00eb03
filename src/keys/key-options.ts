import { holdsPersonNumber, PERSON_NUMBER_RULE } from '../contract/free-text.ts'
import { SCOPES, type Scope } from '../contract/scope.ts'
import { DAY_MS, readDuration } from '../contract/time.ts'
import { isAddressOrNetwork } from '../settings/setting.ts'
import { toFields } from './field-policy.ts'

/** An invalid key option. The message says what is valid. */
export class InvalidOption extends Error {}

/** The text may be the number of a person, so it must not be repeated in a message. */
export class PersonNumber extends InvalidOption {}

const MAX_MS = 100 * 365 * DAY_MS

export function readKeyDuration(text: string): number {
  const durationMs = readDuration(text.trim())
  if (durationMs !== undefined && durationMs <= MAX_MS) return durationMs
  throw new InvalidOption('Give a number and a unit, such as 30m, 12h, 90d or 1y.')
}

/** Above 0: a key that has expired when it is made is of no use. */
export function readLifetime(text: string): number {
  const durationMs = readKeyDuration(text)
  if (durationMs > 0) return durationMs
  throw new InvalidOption('Give a time above 0, such as 12h, 90d or 1y.')
}

/** How long a rolled key stays valid by default. */
export const OVERLAP = '24h'

/** Lists are separated by commas, or the option is repeated. */
export function readScopes(text: string, before: readonly Scope[] = []): Scope[] {
  const scopes = [...new Set([...before, ...toList(text)])]
  if (scopes.length > 0 && scopes.every((scope) => SCOPES.includes(scope as Scope))) return scopes as Scope[]
  throw new InvalidOption(`The scopes are ${SCOPES.join(', ')}.`)
}

export function readAddresses(text: string, before: readonly string[] = []): string[] {
  const addresses = [...before, ...toList(text)]
  if (addresses.length > 0 && addresses.every(isAddressOrNetwork)) return addresses
  throw new InvalidOption('Give addresses or networks, such as 203.0.113.7,10.0.0.0/8.')
}

const MAX_CLIENT_CERTS = 8

/** Fingerprints as `openssl x509 -fingerprint -sha256` prints them, with or without colons. Two at a time allow a renewal. */
export function readClientCerts(text: string, before: readonly string[] = []): string[] {
  const given = toList(text).map((part) =>
    part
      .toLowerCase()
      .replaceAll(':', '')
      .replace(/^sha256/, 'sha256:'),
  )
  const all = [...new Set([...before, ...given])]
  const isValid = all.length > 0 && all.every((each) => /^sha256:[0-9a-f]{64}$/.test(each))
  if (isValid && all.length <= MAX_CLIENT_CERTS) return all
  throw new InvalidOption(
    `Give one to ${MAX_CLIENT_CERTS} SHA-256 fingerprints of certificates, such as sha256:3f9a… with 64 hexadecimal digits. They are printed by: openssl x509 -in client.crt -noout -fingerprint -sha256`,
  )
}

export function readName(text: string): string {
  const name = text.trim()
  if (!/^[^\p{Cc}]{1,80}$/u.test(name)) throw new InvalidOption('Give a name of 1 to 80 characters.')
  if (holdsPersonNumber(name)) throw new PersonNumber(`The name ${PERSON_NUMBER_RULE}.`)
  return name
}

export const readOwner = (text: string) => readFreeText('owner', text, 80)
export const readNote = (text: string) => readFreeText('note', text, 500)

function readFreeText(what: string, given: string, most: number): string {
  const text = given.trim()
  if (text === '' || text.length > most || /\p{Cc}/u.test(text))
    throw new InvalidOption(`Give one line of 1 to ${most} characters.`)
  if (holdsPersonNumber(text)) throw new PersonNumber(`The ${what} ${PERSON_NUMBER_RULE}.`)
  return text
}

/** Returned as given: a group stays a group when the contract adds fields to it. */
export function readFields(text: string, before: readonly string[] = []): string[] {
  const words = [...before, ...toList(text)]
  const unknown = words.filter((word) => toFields(word).length === 0)
  if (words.length > 0 && unknown.length === 0) return words
  throw new InvalidOption('Give names of fields, such as religion, personal_info.email or next_of_kin.')
}

export function readCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidOption('Give a whole number above 0.')
}

const toList = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
