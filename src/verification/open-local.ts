import type { AuditLog } from '../audit/audit-log.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { AppError } from '../errors.ts'
import type { CheckedAnswer } from '../ledger/commit.ts'
import { STORED_MS } from '../ledger/idempotency-table.ts'
import type { AnswerQuestion, LookupTable, StoredAnswer } from '../sources/lookup.ts'
import {
  hashKeyUse,
  inProgressError,
  type KeyUse,
  openStoredResponse,
  type StoredResponse,
  sealStoredResponse,
  toResponseOwner,
} from './idempotency.ts'

/** What a verification by a source inside this process needs. */
export type LocalDeps = {
  readonly lookups: LookupTable
  readonly idempotency: LocalIdempotency
}

/** What verifications by sources inside the process use. */
export const openLocal = (
  { lookups }: { readonly lookups: LookupTable },
  keyring: Keyring,
  audit: AuditLog,
): LocalDeps => ({
  lookups,
  idempotency: createLocalIdempotency(keyring, audit.owner),
})

/** An Idempotency-Key whose request runs in this process. */
export type RunningKey = Omit<AnswerQuestion, 'name'> & {
  /** Of the verification whose response is given. Undefined while it is likely to be an earlier one that is not read yet. */
  reference: string | undefined
  readonly name: Buffer
  readonly fingerprint: Buffer
  readonly subject: string
  readonly text: string
}

/**
 * Idempotency-Keys of verifications that ask no source outside this process. Nothing is claimed in the store: the response
 * is stored in the commit of its audit row, unless another response is stored there by then.
 */
type LocalIdempotency = {
  /** Throws if a request with this key runs in this process. */
  readonly begin: (use: KeyUse) => RunningKey
  /**
   * For a request that claims its key in the store: the same request may run. Throws if another request with this key runs in this
   * process. `isKnown`: the store probably has the key.
   */
  readonly join: (use: KeyUse) => { readonly key: RunningKey; readonly isKnown: boolean }
  /** Whether this process has stored a response under this key not long ago. May be wrong both ways. */
  readonly isLikelyStored: (running: RunningKey) => boolean
  /** The stored response. Throws if it is the response to another request, or if its request still runs elsewhere. */
  readonly read: (running: RunningKey, stored: StoredAnswer | undefined) => StoredResponse | undefined
  /** `record` is the keyed hash of the registry record in the response, in hex. */
  readonly toAnswer: (
    running: RunningKey,
    response: StoredResponse,
    record: string | undefined,
  ) => CheckedAnswer
  /** A response was stored under this key in another way. */
  readonly remember: (running: RunningKey) => void
  readonly end: (running: RunningKey) => void
}

export function createLocalIdempotency(keyring: Keyring, owner: string): LocalIdempotency {
  const running = new Map<string, RunningKey>()
  const recent = createRecentNames()
  const join: LocalIdempotency['join'] = (use) => {
    const { keyId, operation, reference, subject } = use
    const { name, fingerprint } = hashKeyUse(keyring.idempotency, use)
    const text = `${keyId} ${operation} ${name.toString('hex')}`
    const known = recent.has(name) ? undefined : reference
    const key = { keyId, operation, reference: known, name, fingerprint, subject, text }
    const other = running.get(text)
    if (other && !other.fingerprint.equals(fingerprint)) throw runningError(false)
    if (!other) running.set(text, key)
    return { key, isKnown: other !== undefined || recent.has(name) }
  }
  return {
    begin: (use) => {
      const { key } = join(use)
      const first = running.get(key.text)
      if (first !== key) throw runningError(true, first?.reference)
      return key
    },
    join,
    isLikelyStored: ({ name }) => recent.has(name),
    read: (key, stored) => {
      const { name, fingerprint } = key
      const now = steadyNow()
      if (!stored || isOver(stored, now)) return undefined
      const isSame = fingerprint.equals(stored.fingerprint)
      if (!isSame) throw runningError(false)
      if (stored.sealed) {
        const response = openStoredResponse(keyring, name, stored.sealed, toOwner(key))
        key.reference = response.reference
        return response
      }
      if (stored.leaseUntil > now) throw runningError(true)
      return undefined
    },
    toAnswer: (key, response, record) => {
      const { keyId, operation, name, fingerprint, subject } = key
      recent.add(name)
      return {
        keyId,
        operation,
        name: name.toString('hex'),
        fingerprint: fingerprint.toString('hex'),
        subject,
        owner,
        sealed: sealStoredResponse(keyring, name, response, toOwner(key)),
        expiresAt: steadyNow() + STORED_MS,
        record,
      }
    },
    remember: ({ name }) => recent.add(name),
    end: (key) => {
      if (running.get(key.text) === key) running.delete(key.text)
    },
  }
}

const toOwner = ({ keyId, fingerprint }: RunningKey) => toResponseOwner(keyId, fingerprint.toString('hex'))

const isOver = ({ expiresAt, sealed, leaseUntil }: StoredAnswer, now: number) =>
  expiresAt <= now && (sealed !== null || leaseUntil <= now)

const runningError = (isSame: boolean, reference?: string) =>
  isSame ? inProgressError(reference) : new AppError('idempotency_key_reused')

/** The last name in each of 65 536 slots, 256 kB in all. Names are keyed hashes, so their bytes are evenly distributed. */
function createRecentNames() {
  const slots = new Uint32Array(2 ** 16)
  return {
    add: (name: Buffer) => {
      slots[name.readUInt16LE(0)] = name.readUInt32LE(2)
    },
    has: (name: Buffer) => slots[name.readUInt16LE(0)] === name.readUInt32LE(2),
  }
}
