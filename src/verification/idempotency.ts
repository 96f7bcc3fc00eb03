import type { KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { toTextMac } from '../crypto/mac.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import type { Completion } from '../ledger/idempotency-table.ts'
import { type ClaimId, type IdempotencyTable, STORED_MS } from '../ledger/idempotency-table.ts'
import type { PaidCalls } from '../sources/guard/call-guard.ts'
import type { SourceSettings } from '../sources/settings.ts'

/**
 * Longer than any verification takes. A claim that is older belongs to a process that died. On PostgreSQL its death is
 * noticed sooner, by its heartbeat.
 */
const LEASE_MS = 30_000
const MAX_UNRELEASED = 10_000

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
export type IdempotencyClaim = {
  readonly id: ClaimId
  readonly paidCalls: PaidCalls
  /** How the last paid call under the same key failed, if it did. */
  readonly lastFailure: ErrorCode | undefined
}

/** The paid calls that a verification may still make. */
export type CallBudget = Pick<IdempotencyClaim, 'paidCalls' | 'lastFailure'>

export type Idempotency = {
  /** The stored response, or the right to give the first one. */
  readonly begin: (use: KeyUse) => Promise<Begun>
  /** The response as it is written to the store, in one commit with its audit rows. */
  readonly complete: (claim: IdempotencyClaim, response: StoredResponse) => Completion
  /** Failures are not stored. A retry runs again, with the paid calls that are left. */
  readonly release: (claim: IdempotencyClaim, error: unknown) => Promise<void>
  readonly deleteExpired: () => Promise<number>
}

type Begun = { readonly stored: StoredResponse } | { readonly claim: IdempotencyClaim }

type IdempotencyOptions = {
  readonly table: IdempotencyTable
  readonly keyring: Keyring
  readonly owner: string
  /** Paid calls that one Idempotency-Key may make. */
  readonly paidCalls: number
}

export const openIdempotency = (
  { paidCalls }: Pick<SourceSettings, 'paidCalls'>,
  { idempotency: table }: { readonly idempotency: IdempotencyTable },
  keyring: Keyring,
  audit: AuditLog,
) => createIdempotency({ table, keyring, owner: audit.owner, paidCalls })

export function createIdempotency({ table, keyring, owner, paidCalls }: IdempotencyOptions): Idempotency {
  const key = keyring.idempotency
  /** Claims that could not be released because the store failed. They are released before the next claim of the same key. */
  const unreleased = new Map<string, { readonly id: ClaimId; readonly failure: string | null }>()
  const keepUnreleased = (id: ClaimId, failure: string | null) => {
    unreleased.set(toText(id), { id, failure })
    // Callers choose the names, so the map is bounded. A claim that is dropped from it ends with its lease.
    const oldest = unreleased.keys().next().value
    if (unreleased.size > MAX_UNRELEASED && oldest !== undefined) unreleased.delete(oldest)
  }
  const release = async (id: ClaimId, failure: string | null) => {
    keepUnreleased(id, failure)
    await table.release(id, failure)
    unreleased.delete(toText(id))
  }
  return {
    begin: async (use) => {
      const { keyId, operation, reference, subject, isVirtual } = use
      const { name, fingerprint } = hashKeyUse(key, use)
      const now = steadyNow()
      // Each claim has an owner of its own, so that a request whose claim was taken over in this process is told apart.
      const id = { keyId, operation, name, owner: `${owner}:${reference}` }
      const before = unreleased.get(toText(id))
      if (before) await release(before.id, before.failure)
      const about = { fingerprint, subject: isVirtual === true ? null : Buffer.from(subject, 'hex') }
      const times = { now, leaseMs: LEASE_MS, expiresAt: now + STORED_MS }
      const result = await table.claim({ ...id, ...about, ...times }).catch((error) => {
        // The claim may have been made all the same.
        keepUnreleased(id, null)
        throw error
      })
      if (result.state === 'running') throw inProgressError(toReference(result.owner))
      if (result.state === 'reused') throw new AppError('idempotency_key_reused')
      if (result.state === 'done') return { stored: openStoredResponse(keyring, id.name, result.sealed) }
      const lastFailure = (result.lastFailure ?? undefined) as ErrorCode | undefined
      const budget = { payer: id, most: paidCalls, used: result.paidCalls, refunds: [] }
      return { claim: { id, paidCalls: budget, lastFailure } }
    },
    complete: ({ id }, response) => ({
      claim: id,
      sealed: sealStoredResponse(keyring, id.name, response),
      expiresAt: steadyNow() + STORED_MS,
    }),
    release: async ({ id, paidCalls: { refunds } }, error) => {
      // Refunds are written first, so that the next request sees the paid calls that are left.
      await Promise.all(refunds)
      await release(id, isSourceFailure(error) ? error.code : null)
    },
    deleteExpired: () => {
      unreleased.clear()
      return table.deleteExpired(steadyNow())
    },
  }
}

/** `reference` is that of the request in progress, if it is known. */
export const inProgressError = (reference: string | undefined): AppError =>
  new AppError('idempotency_in_progress', reference === undefined ? {} : { reference })

const toReference = (owner: string | undefined) => /ver_[0-9a-z]+$/.exec(owner ?? '')?.[0]

const toResponseBound = (name: Uint8Array) => toAssociatedData('idempotency', name, 1)

/** The body, which is JSON already, follows the other fields after a line break. */
export function sealStoredResponse(
  keyring: Keyring,
  name: Uint8Array,
  { body, ...fields }: StoredResponse,
): Buffer {
  const text = `${JSON.stringify(fields)}\n${body}`
  return seal(keyring.idempotency, Buffer.from(text), toResponseBound(name))
}

export function openStoredResponse(keyring: Keyring, name: Uint8Array, sealed: Uint8Array): StoredResponse {
  const text = unseal(keyring.idempotency, sealed, toResponseBound(name)).toString()
  const end = text.indexOf('\n')
  return { ...JSON.parse(text.slice(0, end)), body: text.slice(end + 1) } as StoredResponse
}

/**
 * A source failure when the paid calls are used up: a retry cannot pay for another. Where no source was asked at all, the
 * caller gets the failure of the last paid call.
 */
export function finalError(error: unknown, budget: CallBudget | undefined): unknown {
  if (!budget || budget.paidCalls.used < budget.paidCalls.most || !isSourceFailure(error)) return error
  const code = error.cause === undefined ? (budget.lastFailure ?? error.code) : error.code
  return new AppError(code, { cause: error.cause, paidCallsUsedUp: true })
}

const SOURCE_FAILURES: readonly ErrorCode[] = ['source_bad_response', 'source_unavailable', 'source_timeout']

export const isSourceFailure = (error: unknown): error is AppError =>
  error instanceof AppError && SOURCE_FAILURES.includes(error.code)

const toText = ({ keyId, operation, name }: ClaimId) =>
  `${keyId} ${operation} ${Buffer.from(name).toString('base64')}`

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

const WELL_FORMED = /^[\x21-\x7e]{1,255}$/

/** The header and the inputs are stored as keyed hashes only. */
export function hashKeyUse(
  key: KeyObject,
  { operation, header, request }: Pick<KeyUse, 'operation' | 'header' | 'request'>,
) {
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
