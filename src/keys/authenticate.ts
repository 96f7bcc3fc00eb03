import { type KeyObject, timingSafeEqual } from 'node:crypto'
import { BlockList, isIPv6 } from 'node:net'
import type { KeyRow, KeyTable } from '../store/key-table.ts'
import { SUBJECTS_PER_DAY } from '../verification/attempts.ts'
import { toHiddenFields } from '../verification/field-policy.ts'
import { type ApiKey, type Mode, parseApiKey, type Scope, toKeyHash } from './api-key.ts'
import { SANDBOX_KEY, sandboxCaller } from './sandbox-key.ts'

/** Who is asking, and what they may do. */
export type Caller = {
  readonly keyId: string
  /** The first key of its line. Everything that is counted or kept for a key is under this id: rolling resets nothing. */
  readonly lineage: string
  readonly mode: Mode
  readonly scopes: ReadonlySet<Scope>
  readonly isAddressAllowed: (address: string) => boolean
  /** Dotted names of the fields that this key does not see. */
  readonly hidden: readonly string[]
  /** Every verification must name the customer's consent. */
  readonly requiresConsent: boolean
  /** How many people it may ask about in a day. */
  readonly subjectsPerDay: number
}

/** Undefined means 401, whatever the reason. */
export type Authenticate = (
  authorization: string | undefined,
) => Caller | undefined | Promise<Caller | undefined>

type AuthenticateOptions = {
  readonly keys: Pick<KeyTable, 'find'>
  readonly pepper: KeyObject
  readonly testKeys: boolean
  readonly publicSandboxKey: boolean
  readonly now?: () => number
}

/** A revoked key must stop within a second, so a row is trusted for half of one. */
const TRUSTED_MS = 500
const MOST_CACHED = 10_000
/** Compared with when the id is unknown, so that unknown and wrong take the same time. */
const NOBODY = Buffer.alloc(32)

type Recent = { readonly caller: Caller; readonly until: number }

type Cached = {
  readonly hash: Uint8Array
  readonly caller: Caller | undefined
  readonly expiresAt: number
  readonly until: number
}

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { keys, pepper, testKeys, publicSandboxKey, now = Date.now } = options
  const cache = new Map<string, Cached>()
  /** Who was let in a moment ago, by what they sent: as long as the row is trusted, nothing need be checked again. */
  const recent = new Map<string, Recent>()

  const load = async (id: string): Promise<Cached> => {
    const row = await keys.find(id)
    const entry = {
      hash: row?.hash ?? NOBODY,
      caller: row && row.revokedAt === undefined ? toCaller(row) : undefined,
      expiresAt: row?.expiresAt ?? Number.POSITIVE_INFINITY,
      until: now() + TRUSTED_MS,
    }
    if (cache.size >= MOST_CACHED) cache.clear()
    if (row) cache.set(id, entry)
    return entry
  }

  const judge = async (key: ApiKey, authorization: string): Promise<Caller | undefined> => {
    const known = cache.get(key.id)
    const entry = known && known.until > now() ? known : await load(key.id)
    const { caller, expiresAt, until } = entry
    const matches = timingSafeEqual(toKeyHash(key.text, pepper), entry.hash)
    if (!matches || !caller || caller.mode !== key.mode || expiresAt <= now()) return undefined
    if (recent.size >= MOST_CACHED) recent.clear()
    recent.set(authorization, { caller, until: Math.min(until, expiresAt) })
    return caller
  }

  return (authorization = '') => {
    const known = recent.get(authorization)
    if (known && known.until > now()) return known.caller
    const key = parseApiKey(toCredential(authorization))
    if (!key || (key.mode === 'test' && !testKeys)) return undefined
    if (key.text !== SANDBOX_KEY) return judge(key, authorization)
    if (!publicSandboxKey) return undefined
    recent.set(authorization, { caller: sandboxCaller, until: Number.POSITIVE_INFINITY })
    return sandboxCaller
  }
}

/** `Bearer <key>` or the bare key. */
const toCredential = (authorization: string) => authorization.trim().replace(/^bearer +/i, '')

function toCaller(row: KeyRow): Caller {
  return {
    keyId: row.id,
    lineage: row.lineage,
    mode: row.mode,
    scopes: new Set(row.scopes),
    isAddressAllowed: toAddressRule(row.allowedIps),
    hidden: toHiddenFields(row.hide, row.reveal),
    requiresConsent: row.requiresConsent,
    subjectsPerDay: row.subjectsPerDay ?? SUBJECTS_PER_DAY,
  }
}

function toAddressRule(allowed: readonly string[] | undefined): Caller['isAddressAllowed'] {
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
