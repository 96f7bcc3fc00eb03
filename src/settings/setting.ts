import { BlockList, isIP } from 'node:net'
import { readDuration } from '../contract/time.ts'
import type { SecretKind } from '../crypto/secret-file.ts'
import { parseDatabaseUrl } from './database-url.ts'

/** An invalid value. The message completes a sentence that begins with the name of the variable. */
export class InvalidSetting extends Error {}

export type Setting<T> = {
  readonly env: string
  readonly help: string
  /** The default, as it would be written in the environment. */
  readonly fallback?: string
  readonly secret?: boolean
  /** Who may read its file: see crypto/secret-file.ts. */
  readonly fileKind?: SecretKind
  /** A vendor in use cannot work without it. */
  readonly required?: boolean
  readonly read: (text: string) => T
}

export const setting = <T, F extends string | undefined>(
  env: string,
  fallback: F,
  read: (text: string) => T,
  help: string,
  secret = false,
): Setting<F extends string ? T : T | undefined> =>
  ({ env, help, read, secret, ...(fallback === undefined ? {} : { fallback }) }) as Setting<
    F extends string ? T : T | undefined
  >

export const wholeNumber = (least: number, most: number) => (text: string) => {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new InvalidSetting(`must be a whole number from ${least} to ${most}`)
}

export const port = (text: string) => {
  if (text.startsWith('tcp://'))
    throw new InvalidSetting(
      'was set by Kubernetes service links (tcp://…): set enableServiceLinks: false, or rename the service',
    )
  return wholeNumber(0, 65535)(text)
}

export const orOff =
  <T>(read: (text: string) => T) =>
  (text: string): T | 'off' =>
    text.toLowerCase() === 'off' ? 'off' : read(text)

export const oneOf =
  <T extends string>(...choices: readonly T[]) =>
  (text: string): T => {
    const found = choices.find((choice) => choice === text.toLowerCase())
    if (found !== undefined) return found
    throw new InvalidSetting(`must be one of ${choices.join(', ')}`)
  }

export const plain = (text: string) => text

export const origin = (text: string) => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol) || new URL(text).pathname !== '/')
    throw new InvalidSetting('must be a URL such as https://verify.example.com, without a path')
  return new URL(text).origin
}

export const databaseUrl = (text: string) => {
  const urls = parseDatabaseUrl(text)
  if (urls === undefined)
    throw new InvalidSetting('must be a URL such as postgres://user:password@host:5432/database')
  if (!SESSION_ATTRIBUTES.includes(urls[0]?.searchParams.get('target_session_attrs') ?? 'any'))
    throw new InvalidSetting(`must have target_session_attrs ${SESSION_ATTRIBUTES.join(', ')} or none`)
  return text
}

/** Of libpq; the two last mean the same to us. */
const SESSION_ATTRIBUTES = ['any', 'read-write', 'primary']

export const addresses = (text: string) => {
  const list = text.split(',').map((part) => part.trim())
  if (list.every(isAddressOrNetwork)) return list
  throw new InvalidSetting(
    'must be IP addresses or networks separated by commas, such as 10.0.0.1,10.1.0.0/16',
  )
}

export function isAddressOrNetwork(text: string): boolean {
  const [address = '', bits] = text.split('/')
  const family = isIP(address)
  if (family === 0) return false
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

export const hostNames = (text: string) => {
  const list = text.split(',').map((part) => part.trim().toLowerCase())
  if (list.every((name) => /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name))) return list
  throw new InvalidSetting(
    'must be host names separated by commas, without ports, such as console.example.com,tabbat',
  )
}

export const rootKey = (text: string) => {
  const bytes = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64')
  if (bytes.length === 32) return text
  throw new InvalidSetting('must be 32 bytes as base64 or hex. Create one with: openssl rand -base64 32')
}

/**
 * A program and its arguments, separated by spaces. A part in single or double quotes may contain spaces. There is no shell:
 * nothing else has a meaning.
 */
export const command = (text: string): readonly string[] => {
  if (!/^(?:[^'"]|'[^']*'|"[^"]*")+$/.test(text))
    throw new InvalidSetting('must be a program and its arguments, with every quote closed')
  const words = text.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? []
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'))
}

/** A setting that a vendor needs. */
export const required = <T>(
  env: string,
  read: (text: string) => T,
  help: string,
  secret = false,
): Setting<T> => ({ env, help, read, secret, required: true })

/** Printable ASCII, because it is sent in a header. */
export const credential = (text: string) => {
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new InvalidSetting('must be ASCII letters, digits and punctuation, without spaces')
}

/** May have a path, such as https://api.example.com/v2, but no query and no credentials. */
export const baseUrl = (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password)
    throw new InvalidSetting('must be a URL such as https://api.example.com/v2')
  return text.replace(/\/+$/, '')
}

export const urlPath = (text: string) => {
  if (/^\/[A-Za-z0-9._~/{}-]*$/.test(text)) return text
  throw new InvalidSetting('must be a path such as /v1/nin')
}

/** An amount in naira, returned in kobo. */
export const naira = (text: string) => {
  if (!/^\d{1,10}(\.\d{1,2})?$/.test(text))
    throw new InvalidSetting('must be an amount in naira such as 50 or 50.25')
  return Math.round(Number(text) * 100)
}

type DurationBounds = {
  readonly least?: string
  readonly most?: string
  /** Why it may not be longer, if that is not plain. */
  readonly whyMost?: string
}

/** A duration within bounds, such as 30m. */
export const duration = ({ least = '1s', most = '999999d', whyMost }: DurationBounds = {}) => {
  const [leastMs = 1, mostMs = Number.POSITIVE_INFINITY] = [readDuration(least), readDuration(most)]
  return (text: string) => {
    const ms = readDuration(text)
    if (ms === undefined) throw new InvalidSetting('must be a duration such as 30m, 6h or 1d')
    if (ms < leastMs) throw new InvalidSetting(`must be at least ${least}`)
    if (ms > mostMs)
      throw new InvalidSetting(`must be at most ${most}${whyMost === undefined ? '' : `: ${whyMost}`}`)
    return ms
  }
}

export type Settings = Readonly<Record<string, Setting<unknown>>>
export type ValuesOf<S extends Settings> = { readonly [Name in keyof S]: ReturnType<S[Name]['read']> }

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/**
 * Whether a host is this machine: a loopback address (also IPv4 mapped to IPv6), or exactly localhost. Other names are not,
 * because a DNS server decides where they lead.
 */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1')
  if (address.toLowerCase() === 'localhost') return true
  const family = isIP(address)
  return family !== 0 && LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4')
}
