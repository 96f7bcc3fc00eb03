import type { KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { toTextMac } from '../crypto/mac.ts'
import { BrokenSeal, seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import type { Completion, NewClaim, Release } from '../ledger/idempotency-table.ts'
import { type ClaimId, type IdempotencyTable, STORED_MS } from '../ledger/idempotency-table.ts'
import type { Payer } from '../ledger/paid-calls.ts'
import type { SourceSettings } from '../sources/settings.ts'
import { createUnfinishedClaims, type LateAnswer } from './unfinished-claims.ts'

/**
 * Longer than any verification takes. A claim that is older belongs to a process that died. On PostgreSQL its death is
 * noticed sooner, by its heartbeat.
 */
const LEASE_MS = 30_000

/** The first response under an Idempotency-Key. It is replayed byte for byte. */
export type StoredResponse = {
  readonly status: number
  readonly body: string
  readonly outcome: string
  readonly reference: string
  readonly released: string | null
  /** The header Tabbat-Match. */
  readonly match?: string | undefined
  /** When the same request may succeed, of a failure that ended a pending verification. */
  readonly retryAt?: number | undefined
}

/** The right to give the first response under an Idempotency-Key. */
export type IdempotencyClaim = CallBudget & {
  readonly id: ClaimId
  readonly fingerprint: Buffer
  readonly subject: Buffer | null
  /** Whether the store knows it. */
  isHeld: boolean
}

/**
 * The paid calls of one Idempotency-Key, or of one verification in the queue, over all nodes. The store counts a call before
 * it is made, so a crash loses none.
 */
export type CallBudget = {
  readonly payer: Payer
  readonly most: number
  /** Calls made in this request and in earlier ones with the same key. */
  used: number
  /** How the last paid call under the same key failed, if it did. */
  lastFailure: ErrorCode | undefined
}

export type Idempotency = {
  /** The stored response, or the right to give the first one. */
  readonly begin: (use: KeyUse) => Promise<Begun>
  /** A claim that is not in the store yet. */
  readonly open: (use: KeyUse, hashes: KeyHashes) => IdempotencyClaim
  /** The claim as it is written to the store, with the paid calls that are about to be made. Refused if the key was used before. */
  readonly toNewClaim: (claim: IdempotencyClaim, paidCalls: number) => NewClaim
  /** The stored response under a key that was used before. Without one, the claim is held. */
  readonly find: (claim: IdempotencyClaim) => Promise<StoredResponse | undefined>
  /** The response as it is written to the store, in one commit with its audit rows. */
  readonly complete: (claim: IdempotencyClaim, response: StoredResponse) => Completion
  /** Failures are not stored. A retry runs again, with the paid calls that are left. */
  readonly toRelease: (claim: IdempotencyClaim, error: unknown, refunded: number) => Release
  /** The same in a commit of its own. */
  readonly release: (claim: IdempotencyClaim, error: unknown) => Promise<void>
  /** It is not known whether the claim was written: it is released before the key is used again. */
  readonly releaseLater: (claim: IdempotencyClaim) => void
  /** The commit of an answer failed: it is stored when the store is back, or before the key is used again. */
  readonly storeLater: (answer: LateAnswer) => void
  readonly deleteExpired: () => Promise<number>
  readonly close: () => Promise<void>
}

type Begun = { readonly stored: StoredResponse } | { readonly claim: IdempotencyClaim }

type IdempotencyStore = {
  readonly idempotency: IdempotencyTable
  readonly erasure: { readonly eraseLate: (subject: Uint8Array) => Promise<unknown> }
}

/** `paidCalls` is how many one Idempotency-Key may make. */
export function openIdempotency(
  { paidCalls }: Pick<SourceSettings, 'paidCalls'>,
  { idempotency: table, erasure }: IdempotencyStore,
  keyring: Keyring,
  audit: AuditLog,
  nodes: { readonly deadBefore: () => number | undefined },
): Idempotency {
  const { owner } = audit
  const unfinished = createUnfinishedClaims({ table, audit, erasure })
  const key = keyring.idempotency
  const open = (
    { keyId, operation, reference, subject, isVirtual }: KeyUse,
    { name, fingerprint }: KeyHashes,
  ): IdempotencyClaim => {
    // Each claim has an owner of its own, so that a request whose claim was taken over in this process is told apart.
    const id = { keyId, operation, name, owner: `${owner}:${reference}` }
    return {
      id,
      fingerprint,
      subject: isVirtual === true ? null : Buffer.from(subject, 'hex'),
      payer: id,
      most: paidCalls,
      used: 0,
      lastFailure: undefined,
      isHeld: false,
    }
  }
  const find = async (claim: IdempotencyClaim): Promise<StoredResponse | undefined> => {
    const { id, fingerprint, subject } = claim
    await unfinished.finishEarlier(id)
    const now = steadyNow()
    const times = { now, leaseMs: LEASE_MS, expiresAt: now + STORED_MS, deadBefore: nodes.deadBefore() }
    const result = await table.claim({ ...id, fingerprint, subject, ...times }).catch((error) => {
      // The claim may have been made all the same.
      unfinished.releaseLater(id)
      throw error
    })
    if (result.state === 'running') throw inProgressError(toReference(result.owner))
    if (result.state === 'reused') throw new AppError('idempotency_key_reused')
    if (result.state === 'done')
      return openStoredResponse(keyring, id.name, result.sealed, toRequestOwner(claim))
    claim.isHeld = true
    claim.used = result.paidCalls
    claim.lastFailure = (result.lastFailure ?? undefined) as ErrorCode | undefined
    return undefined
  }
  return {
    begin: async (use) => {
      const claim = open(use, hashKeyUse(key, use))
      const stored = await find(claim)
      return stored ? { stored } : { claim }
    },
    open,
    toNewClaim: ({ id, fingerprint, subject }, paidCalls) => ({
      ...id,
      fingerprint,
      subject,
      leaseMs: LEASE_MS,
      expiresAt: steadyNow() + STORED_MS,
      paidCalls,
    }),
    find,
    complete: (claim, response) => ({
      claim: claim.id,
      sealed: sealStoredResponse(keyring, claim.id.name, response, toRequestOwner(claim)),
      expiresAt: steadyNow() + STORED_MS,
    }),
    toRelease: ({ id }, error, refunded) => ({ claim: id, refunded, failure: toFailure(error) }),
    release: ({ id }, error) => unfinished.release(id, toFailure(error)),
    releaseLater: ({ id }) => unfinished.releaseLater(id),
    storeLater: unfinished.storeLater,
    deleteExpired: () => {
      unfinished.forgetReleases()
      return table.deleteExpired(steadyNow())
    },
    close: unfinished.close,
  }
}

const toFailure = (error: unknown) => (isSourceFailure(error) ? error.code : null)

/** `reference` is that of the request in progress, if it is known. */
export const inProgressError = (reference: string | undefined): AppError =>
  new AppError('idempotency_in_progress', reference === undefined ? {} : { reference })

const toReference = (owner: string | undefined) => /ver_[0-9a-z]+$/.exec(owner ?? '')?.[0]

const toResponseBound = (name: Uint8Array) => toAssociatedData('idempotency', name, 1)

const toRequestOwner = ({ id, fingerprint }: Pick<IdempotencyClaim, 'id' | 'fingerprint'>) =>
  toResponseOwner(id.keyId, fingerprint.toString('hex'))

/** Whose response under an Idempotency-Key it is: of the lineage of an API key, to the request with this fingerprint (hex). */
export const toResponseOwner = (lineage: string, fingerprint: string) => `${lineage} ${fingerprint}`

/**
 * The body, which is JSON already, follows the other fields after a line break. `owner` says whose response it is. It is a field
 * inside the seal, not a part of the associated data: nodes of 0.3.0 pass over it.
 */
export function sealStoredResponse(
  keyring: Keyring,
  name: Uint8Array,
  { body, ...fields }: StoredResponse,
  owner?: string,
): Buffer {
  const text = `${JSON.stringify({ ...fields, owner })}\n${body}`
  return seal(keyring.idempotency, Buffer.from(text), toResponseBound(name))
}

/**
 * Throws BrokenSeal if the response names another owner: it was moved in the database. A response that 0.3.0 sealed names no owner,
 * and is opened. Without `owner`, the owner is not compared.
 */
export function openStoredResponse(
  keyring: Keyring,
  name: Uint8Array,
  sealed: Uint8Array,
  owner?: string,
): StoredResponse {
  const text = unseal(keyring.idempotency, sealed, toResponseBound(name)).toString()
  const end = text.indexOf('\n')
  const { owner: found = owner, ...fields } = JSON.parse(text.slice(0, end))
  if (owner !== undefined && found !== owner) throw new BrokenSeal()
  return { ...fields, body: text.slice(end + 1) } as StoredResponse
}

/**
 * A source failure when the paid calls are used up: a retry cannot pay for another. Where no source was asked at all, the
 * caller gets the failure of the last paid call.
 */
export function finalError(error: unknown, budget: CallBudget | undefined): unknown {
  if (!budget || budget.used < budget.most || !isSourceFailure(error)) return error
  const code = error.cause === undefined ? (budget.lastFailure ?? error.code) : error.code
  return new AppError(code, { cause: error.cause, paidCallsUsedUp: true })
}

const SOURCE_FAILURES: readonly ErrorCode[] = ['source_bad_response', 'source_unavailable', 'source_timeout']

export const isSourceFailure = (error: unknown): error is AppError =>
  error instanceof AppError && SOURCE_FAILURES.includes(error.code)

/** One use of an Idempotency-Key. */
export type KeyUse = {
  /** The lineage of the API key: a rolled key shares the Idempotency-Keys of its predecessor. */
  readonly keyId: string
  readonly operation: string
  /** Of the verification, told to requests that come while it runs. */
  readonly reference: string
  readonly header: string
  /** The inputs. The same header with other inputs is refused. */
  readonly request: readonly string[]
  /** Keyed hash of the person's number, in hex. */
  readonly subject: string
  /** About a virtual NIN: the person may be known by another number in the response. */
  readonly isVirtual?: boolean
}

/** Keyed hashes of the header and of the inputs. */
type KeyHashes = { readonly name: Buffer; readonly fingerprint: Buffer }

const WELL_FORMED = /^[\x21-\x7e]{1,255}$/

/** The header and the inputs are stored as keyed hashes only. */
export function hashKeyUse(
  key: KeyObject,
  { operation, header, request }: Pick<KeyUse, 'operation' | 'header' | 'request'>,
): KeyHashes {
  if (!WELL_FORMED.test(header))
    throw new AppError('validation_failed', {
      errors: { 'Idempotency-Key': ['Idempotency-Key must be 1 to 255 visible ASCII characters'] },
    })
  return {
    name: toHash(key, ['name', header]),
    fingerprint: toHash(key, ['request', operation, ...request]),
  }
}

const toHash = (key: KeyObject, parts: readonly string[]) =>
  Buffer.from(toTextMac(key, JSON.stringify(parts)), 'hex')
