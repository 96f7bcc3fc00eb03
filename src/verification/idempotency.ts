import { createHmac } from 'node:crypto'
import { DAY_MS, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import type { PaidCalls } from '../sources/guard/call-guard.ts'
import type { Completion } from '../store/audit-table.ts'
import type { ClaimId, IdempotencyTable } from '../store/idempotency-table.ts'

/** How long the first answer is kept. */
const KEEP_MS = DAY_MS
/** Longer than any verification takes: after it, a claim belongs to a process that died. */
const LEASE_MS = 30_000
const MOST_ABANDONED = 10_000
const WELL_FORMED = /^[\x21-\x7e]{1,255}$/

/** The first answer, as it is kept: replayed byte for byte. */
export type StoredResponse = {
  readonly status: number
  readonly body: string
  readonly outcome: string
  readonly reference: string
  readonly released: string | null
}

/** The right to answer for an Idempotency-Key. */
export type Claimed = {
  readonly claim: ClaimId
  readonly paidCalls: PaidCalls
  /** What the last paid call under the same key came to, if it failed. */
  readonly lastFailure: ErrorCode | undefined
}

export type Idempotency = {
  /** The answer that was given before, or the right to give the first one. */
  readonly begin: (wish: Wish) => Promise<{ readonly kept: StoredResponse } | { readonly claimed: Claimed }>
  /** What goes into the store together with the audit rows of the first answer. */
  readonly complete: (claimed: Claimed, kept: StoredResponse) => Completion
  /** Time-outs and failures are not frozen: the next try runs, with what is left of the paid calls. */
  readonly release: (claimed: Claimed, error: unknown) => Promise<void>
  readonly forget: () => Promise<void>
}

export type Wish = {
  /** Of the first key of its line: a rolled key knows the Idempotency-Keys of its predecessor. */
  readonly keyId: string
  readonly operation: string
  readonly header: string
  /** What was asked: the same header with something else is refused. */
  readonly request: readonly string[]
  /** Keyed hash of the person's number, in hex. */
  readonly subject: string
}

type IdempotencyOptions = {
  readonly table: IdempotencyTable
  readonly keyring: Keyring
  readonly owner: string
  /** Paid calls that one Idempotency-Key may cause. */
  readonly paidCalls: number
}

export function createIdempotency({ table, keyring, owner, paidCalls }: IdempotencyOptions): Idempotency {
  const key = keyring.idempotency
  const hmac = (label: string, ...parts: readonly string[]) =>
    createHmac('sha256', key)
      .update(JSON.stringify([label, ...parts]))
      .digest()
  let claims = 0
  /** Claims that could not be released while the store was unavailable: released before the next claim of the same key. */
  const abandoned = new Map<string, { readonly claim: ClaimId; readonly failure: string | null }>()
  const abandon = (claim: ClaimId, failure: string | null) => {
    abandoned.set(toText(claim), { claim, failure })
    // Callers choose these names. The lease of one that is dropped runs out by itself.
    const oldest = abandoned.keys().next().value
    if (abandoned.size > MOST_ABANDONED && oldest !== undefined) abandoned.delete(oldest)
  }
  const giveUp = async (claim: ClaimId, failure: string | null) => {
    abandon(claim, failure)
    await table.release(claim, failure)
    abandoned.delete(toText(claim))
  }
  return {
    begin: async ({ keyId, operation, header, request, subject }) => {
      if (!WELL_FORMED.test(header))
        throw new AppError('validation_failed', {
          errors: { 'Idempotency-Key': ['Idempotency-Key must be 1 to 255 visible ASCII characters'] },
        })
      const now = steadyNow()
      // Each claim has an owner of its own: one that was taken over within this process is not confused with its successor.
      claims += 1
      const claim = { keyId, operation, name: hmac('name', header), owner: `${owner}:${claims}` }
      const before = abandoned.get(toText(claim))
      if (before) await giveUp(before.claim, before.failure)
      const about = {
        fingerprint: hmac('request', operation, ...request),
        subject: Buffer.from(subject, 'hex'),
      }
      const times = { now, leaseUntil: now + LEASE_MS, expiresAt: now + KEEP_MS }
      const result = await table.claim({ ...claim, ...about, ...times }).catch((error) => {
        // Nobody knows whether it was made.
        abandon(claim, null)
        throw error
      })
      if (result.state === 'running') throw new AppError('idempotency_in_progress')
      if (result.state === 'reused') throw new AppError('idempotency_key_reused')
      if (result.state === 'done') return { kept: openKept(keyring, claim.name, result.sealed) }
      const lastFailure = (result.lastFailure ?? undefined) as ErrorCode | undefined
      const budget = { claim, most: paidCalls, used: result.paidCalls, refunds: [] }
      return { claimed: { claim, paidCalls: budget, lastFailure } }
    },
    complete: ({ claim }, kept) => ({
      claim,
      sealed: seal(key, Buffer.from(JSON.stringify(kept)), toKeptBound(claim.name)),
      expiresAt: steadyNow() + KEEP_MS,
    }),
    release: async ({ claim, paidCalls: { refunds } }, error) => {
      // A call that was not paid is taken back before the next request counts.
      await Promise.all(refunds)
      await giveUp(claim, isSourceFailure(error) ? error.code : null)
    },
    forget: async () => {
      abandoned.clear()
      await table.forget(steadyNow())
    },
  }
}

const toKeptBound = (name: Uint8Array) => toAssociatedData('idempotency', name, 1)

/** A kept answer in the clear. */
export const openKept = (keyring: Keyring, name: Uint8Array, sealed: Uint8Array): StoredResponse =>
  JSON.parse(unseal(keyring.idempotency, sealed, toKeptBound(name)).toString()) as StoredResponse

/**
 * A source failure under an Idempotency-Key that has used up its paid calls: a retry could not pay for another. Where no
 * source was asked at all, the last failure is answered.
 */
export function toFinalFailure(error: unknown, claimed: Claimed | undefined): unknown {
  if (!claimed || claimed.paidCalls.used < claimed.paidCalls.most || !isSourceFailure(error)) return error
  const code = error.cause === undefined ? (claimed.lastFailure ?? error.code) : error.code
  return new AppError(code, { cause: error.cause, paidCallsUsedUp: true })
}

const SOURCE_FAILURES: readonly ErrorCode[] = ['source_bad_response', 'source_unavailable', 'source_timeout']

const isSourceFailure = (error: unknown): error is AppError =>
  error instanceof AppError && SOURCE_FAILURES.includes(error.code)

const toText = ({ keyId, operation, name }: ClaimId) =>
  `${keyId} ${operation} ${Buffer.from(name).toString('base64')}`
