import { createHmac } from 'node:crypto'
import type { Keyring } from '../crypto/keyring.ts'
import { seal, toBound, unseal } from '../crypto/seal.ts'
import { AppError } from '../errors.ts'
import type { Completion } from '../store/audit-table.ts'
import type { IdempotencyTable } from '../store/idempotency-table.ts'

/** How long the first answer is kept. */
const KEEP_MS = 24 * 3_600_000
/** Longer than any verification takes: after it, a claim belongs to a process that died. */
const LEASE_MS = 30_000
const WELL_FORMED = /^[\x21-\x7e]{1,255}$/

/** The first answer, as it is kept: replayed byte for byte. */
export type Kept = {
  readonly status: number
  readonly body: string
  readonly outcome: string
  readonly reference: string
  readonly released: string | null
}

/** The right to answer for an Idempotency-Key. */
export type Claimed = Pick<Completion, 'keyId' | 'operation' | 'name' | 'owner'>

export type Idempotency = {
  /** The answer that was given before, or the right to give the first one. */
  readonly begin: (wish: Wish) => Promise<{ readonly kept: Kept } | { readonly claimed: Claimed }>
  /** What goes into the store together with the audit rows of the first answer. */
  readonly complete: (claimed: Claimed, kept: Kept) => Completion
  /** Time-outs and failures are not frozen: the next try runs. */
  readonly release: (claimed: Claimed) => Promise<void>
  readonly forget: () => Promise<void>
}

export type Wish = {
  readonly keyId: string
  readonly operation: string
  readonly header: string
  /** What was asked: the same header with something else is refused. */
  readonly request: readonly string[]
}

export function createIdempotency(table: IdempotencyTable, keyring: Keyring, owner: string): Idempotency {
  const key = keyring.idempotency
  const hmac = (label: string, ...parts: readonly string[]) =>
    createHmac('sha256', key)
      .update(JSON.stringify([label, ...parts]))
      .digest()
  const bound = (name: Uint8Array) => toBound('idempotency', name, 1)
  let claims = 0
  /** Claims that could not be given up while the store was away: given up when somebody comes for them. */
  const abandoned = new Map<string, Claimed>()
  const giveUp = async (claimed: Claimed | undefined) => {
    if (!claimed) return
    abandoned.set(toText(claimed), claimed)
    await table.release(claimed)
    abandoned.delete(toText(claimed))
  }
  return {
    begin: async ({ keyId, operation, header, request }) => {
      if (!WELL_FORMED.test(header))
        throw new AppError('validation_failed', {
          errors: { 'Idempotency-Key': ['Idempotency-Key must be 1 to 255 visible ASCII characters'] },
        })
      const now = Date.now()
      // Each claim has an owner of its own: one that was taken over within this process is not confused with its successor.
      claims += 1
      const claimed = { keyId, operation, name: hmac('name', header), owner: `${owner}:${claims}` }
      await giveUp(abandoned.get(toText(claimed)))
      const fingerprint = hmac('request', operation, ...request)
      const times = { now, leaseUntil: now + LEASE_MS, expiresAt: now + KEEP_MS }
      const result = await table.claim({ ...claimed, fingerprint, ...times }).catch((error) => {
        // Nobody knows whether it was made.
        abandoned.set(toText(claimed), claimed)
        throw error
      })
      if (result.state === 'claimed') return { claimed }
      if (result.state === 'running') throw new AppError('idempotency_in_progress')
      if (result.state === 'reused') throw new AppError('idempotency_key_reused')
      return { kept: JSON.parse(unseal(key, result.sealed, bound(claimed.name)).toString()) as Kept }
    },
    complete: (claimed, kept) => ({
      ...claimed,
      sealed: seal(key, Buffer.from(JSON.stringify(kept)), bound(claimed.name)),
    }),
    release: giveUp,
    forget: async () => {
      abandoned.clear()
      await table.forget(Date.now())
    },
  }
}

const toText = ({ keyId, operation, name }: Claimed) =>
  `${keyId} ${operation} ${Buffer.from(name).toString('base64')}`
