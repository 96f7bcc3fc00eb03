import { type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Mode } from '../contract/scope.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { isStoreFailure } from '../database/failure.ts'
import { type ApiKey, parseApiKey, toKeyHash } from './api-key.ts'
import { createBoundedMap } from './bounded-map.ts'
import { type Caller, toCaller } from './caller.ts'
import type { KeyRow, KeyTable } from './key-table.ts'
import { hasPublicSandboxKey, SANDBOX_KEY, type SandboxSettings, sandboxCaller } from './sandbox-key.ts'

/** A key with the right secret that was revoked or has expired. */
export type UnusableKey = { readonly keyId: string; readonly mode: Mode }

/** Undefined means 401, whatever the reason. `noted` is told which key it was, for the request log. */
export type Authenticate = (
  authorization: string | undefined,
  noted?: { unusableKey: UnusableKey | undefined },
) => Caller | undefined | Promise<Caller | undefined>

type AuthenticateOptions = {
  readonly keys: Pick<KeyTable, 'find'>
  readonly pepper: KeyObject
  readonly testKeys: boolean
  readonly publicSandboxKey: boolean
  /** Monotonic. */
  readonly now?: () => number
  /** For expiry times, which are stored. */
  readonly wallNow?: () => number
  /** Counted in tests: the work for a key must not tell whether it exists. */
  readonly toHash?: typeof toKeyHash
}

/** A revoked key must stop within a second, so a row is trusted for half a second. */
const TRUSTED_MS = 500
const MAX_TRUSTED = 10_000
/** While the store is unavailable, a key that was valid this recently still serves look-ups. */
const UNCONFIRMED_MS = 300_000

/** Stands in for that of a missing row, so that an unknown id and a wrong secret take the same steps. */
const NO_HASH = Buffer.alloc(32)

export const openAuthenticate = (
  config: SandboxSettings,
  { keys }: { readonly keys: KeyTable },
  keyring: Keyring,
) =>
  createAuthenticate({
    keys,
    pepper: keyring['api-key-pepper'],
    testKeys: config.sandbox !== 'off',
    publicSandboxKey: hasPublicSandboxKey(config),
  })

type Noted = Parameters<Authenticate>[1]

type Trusted = { readonly caller: Caller; readonly until: number; readonly expiresAt: number }

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { keys, pepper, testKeys, publicSandboxKey } = options
  const { now = () => performance.now(), wallNow = steadyNow, toHash = toKeyHash } = options
  const lookup = createKeyLookup(keys, now)
  // Only keys whose secret was correct: callers cannot fill it with invented keys.
  const trusted = createBoundedMap<string, Trusted>(MAX_TRUSTED)

  const check = async (key: ApiKey, isTrusted: boolean, noted: Noted): Promise<Caller | undefined> => {
    const { row, at } = await lookup.find(key.id, isTrusted)
    const matches = timingSafeEqual(toHash(key.text, pepper), row?.hash ?? NO_HASH)
    const expiresAt = row?.expiresAt ?? Number.POSITIVE_INFINITY
    if (!row || !matches || row.revokedAt !== undefined || row.mode !== key.mode || expiresAt <= wallNow()) {
      trusted.delete(key.text)
      if (row && matches && noted) noted.unusableKey = { keyId: row.id, mode: row.mode }
      return undefined
    }
    const caller = toCaller(row)
    trusted.set(key.text, { caller, until: at + TRUSTED_MS, expiresAt })
    return caller
  }

  /** When the store fails, a key whose secret was correct before is accepted as unconfirmed. */
  const checkOrRecall = (key: ApiKey, known: Trusted | undefined, noted: Noted) =>
    check(key, known !== undefined, noted).catch((error) => {
      if (!known || !isStoreFailure(error)) throw error
      if (known.until + UNCONFIRMED_MS <= now() || known.expiresAt <= wallNow()) throw error
      return { ...known.caller, isUnconfirmed: true }
    })

  return (authorization = '', noted) => {
    const credential = toCredential(authorization)
    if (credential === SANDBOX_KEY) return publicSandboxKey ? sandboxCaller : undefined
    const known = trusted.get(credential)
    if (known && known.until > now() && known.expiresAt > wallNow()) return known.caller
    const key = parseApiKey(credential)
    if (!key || (key.mode === 'test' && !testKeys)) return undefined
    return checkOrRecall(key, known, noted)
  }
}

/** `Bearer <key>` or the bare key. The usual spelling needs no pattern: every request pays for this. */
const toCredential = (authorization: string) =>
  authorization.startsWith('Bearer tbt_')
    ? authorization.slice(7).trimEnd()
    : authorization.trim().replace(/^bearer +/i, '')

/** A row, and when it was read, on the monotonic clock. */
type FoundKey = { readonly row: KeyRow | undefined; readonly at: number }

type KeyLookup = {
  /** `isTrusted`: the secret was correct before, so the look-up does not queue behind unknown credentials. */
  readonly find: (id: string, isTrusted: boolean) => Promise<FoundKey>
}

/** Concurrent look-ups of unknown credentials: they never take all connections of the store. */
const MAX_UNTRUSTED = 4

/** Loads the rows of keys. Requests that need the same row at the same time share one look-up. */
export function createKeyLookup(keys: Pick<KeyTable, 'find'>, now: () => number): KeyLookup {
  const underWay = new Map<string, Promise<FoundKey>>()
  let waiting: { readonly enter: () => void; readonly refuse: (error: unknown) => void }[] = []
  let untrusted = 0

  const load = async (id: string): Promise<FoundKey> => {
    // Taken before the query: a key may be revoked while it runs.
    const at = now()
    return { row: await keys.find(id), at }
  }
  const loadInTurn = async (id: string): Promise<FoundKey> => {
    if (untrusted < MAX_UNTRUSTED) untrusted += 1
    else await new Promise<void>((enter, refuse) => waiting.push({ enter, refuse }))
    try {
      return await load(id)
    } catch (error) {
      if (isStoreFailure(error)) refuseWaiting(error)
      throw error
    } finally {
      const next = waiting.shift()
      if (next) next.enter()
      else untrusted -= 1
    }
  }
  /** Queued look-ups fail with the first store failure; otherwise they would time out one after another. */
  const refuseWaiting = (error: unknown) => {
    const refused = waiting
    waiting = []
    for (const { refuse } of refused) refuse(error)
  }
  return {
    find: (id, isTrusted) => {
      const name = `${isTrusted} ${id}`
      const known = underWay.get(name)
      if (known) return known
      const work = isTrusted ? load(id) : loadInTurn(id)
      const found = work.finally(() => underWay.delete(name))
      underWay.set(name, found)
      return found
    },
  }
}

/** Rolls that are followed. */
const MAX_ROLLS = 100

/** Finds a key by its id, for work that its caller does not wait for. A key that was rolled and has expired is its successor. */
export function openFindCaller(config: SandboxSettings, { keys }: { readonly keys: Pick<KeyTable, 'find'> }) {
  const publicSandboxKey = hasPublicSandboxKey(config)
  return async (keyId: string): Promise<Caller | undefined> => {
    if (keyId === sandboxCaller.keyId) return publicSandboxKey ? sandboxCaller : undefined
    const row = await findCurrent(keys, keyId)
    return row && (row.mode === 'live' || config.sandbox !== 'off') ? toCaller(row) : undefined
  }
}

async function findCurrent(keys: Pick<KeyTable, 'find'>, keyId: string): Promise<KeyRow | undefined> {
  let row = await keys.find(keyId)
  for (let rolls = 0; row && isExpired(row) && rolls < MAX_ROLLS; rolls++)
    row = row.rolledTo === undefined ? undefined : await keys.find(row.rolledTo)
  return row && row.revokedAt === undefined && !isExpired(row) ? row : undefined
}

const isExpired = ({ expiresAt = Number.POSITIVE_INFINITY }: KeyRow) => expiresAt <= steadyNow()
