import type { Database, Row } from './database.ts'
import { deleteSome } from './delete-some.ts'

/** One use of an Idempotency-Key. Only a keyed hash of the key is stored. */
type Claim = {
  readonly keyId: string
  readonly operation: string
  readonly name: Uint8Array
  /** Keyed hash of the request: the same key with another request is a client error. */
  readonly fingerprint: Uint8Array
  /** Keyed hash of the person's number, by which an erasure finds the response. */
  readonly subject: Uint8Array
  readonly owner: string
  readonly now: number
  readonly leaseUntil: number
  readonly expiresAt: number
}

/** Which claim, and by which request. */
export type ClaimId = Pick<Claim, 'keyId' | 'operation' | 'name' | 'owner'>

type ClaimResult =
  | {
      readonly state: 'claimed'
      /** Paid calls made under the same key so far. */
      readonly paidCalls: number
      /** Error code of the last one. */
      readonly lastFailure: string | null
    }
  | { readonly state: 'running' }
  | { readonly state: 'reused' }
  | { readonly state: 'done'; readonly sealed: Uint8Array }

export type IdempotencyTable = {
  /** Of many concurrent requests with the same key, one gets the claim. */
  readonly claim: (claim: Claim) => Promise<ClaimResult>
  /** Gives up a claim without a response. After a paid call the row stays, with its count and its last failure. */
  readonly release: (claim: ClaimId, failure: string | null) => Promise<void>
  /** Deletes some of what has expired; see delete-some.ts. */
  readonly forget: (now: number) => Promise<number>
}

/** No two nodes differ by more than this. */
const MAX_CLOCK_SKEW_MS = 600_000

const SAME = 'key_id = $1 AND operation = $2 AND name = $3'
const MINE = `${SAME} AND owner = $4 AND sealed IS NULL`
/** A running request keeps its row after it expires. */
const OVER = 'expires_at <= $1 AND (sealed IS NOT NULL OR lease_until <= $1)'

export function createIdempotencyTable(database: Database): IdempotencyTable {
  return {
    claim: (claim) => database.transaction((inside) => claimInside(inside, claim)),
    release: (claim, failure) => database.transaction((inside) => releaseInside(inside, claim, failure)),
    forget: (now) => deleteSome(database, 'idempotency', OVER, now),
  }
}

async function claimInside(inside: Database, claim: Claim): Promise<ClaimResult> {
  const { keyId, operation, name, fingerprint, subject, owner, now, leaseUntil, expiresAt } = claim
  await inside
    .prepare(`DELETE FROM idempotency WHERE ${OVER} AND key_id = $2 AND operation = $3 AND name = $4`)
    .run(now, keyId, operation, name)
  const inserted = await inside
    .prepare(
      `INSERT INTO idempotency (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (key_id, operation, name) DO NOTHING`,
    )
    .run(keyId, operation, name, fingerprint, subject, owner, leaseUntil, expiresAt)
  if (inserted > 0) return { state: 'claimed', paidCalls: 0, lastFailure: null }
  const row = await inside
    .prepare(`SELECT fingerprint, sealed FROM idempotency WHERE ${SAME}`)
    .get(keyId, operation, name)
  if (!row) return { state: 'running' }
  if (!Buffer.from(row.fingerprint as Uint8Array).equals(fingerprint)) return { state: 'reused' }
  if (row.sealed !== null) return { state: 'done', sealed: row.sealed as Uint8Array }
  return takeOver(inside, claim)
}

/**
 * After the lease of an owner that failed or crashed, the next request takes the claim over; the expiry stays. A lease that
 * ends far later than one that begins now was taken while a clock was ahead.
 */
async function takeOver(
  inside: Database,
  { keyId, operation, name, subject, owner, leaseUntil, now }: Claim,
): Promise<ClaimResult> {
  const taken: Row | undefined = await inside
    .prepare(
      `UPDATE idempotency SET owner = $4, lease_until = $5, subject = $6
       WHERE ${SAME} AND sealed IS NULL AND (lease_until <= $7 OR lease_until > $8)
       RETURNING paid_calls, last_failure`,
    )
    .get(keyId, operation, name, owner, leaseUntil, subject, now, leaseUntil + MAX_CLOCK_SKEW_MS)
  if (!taken) return { state: 'running' }
  return {
    state: 'claimed',
    paidCalls: Number(taken.paid_calls),
    lastFailure: taken.last_failure as string | null,
  }
}

async function releaseInside(
  inside: Database,
  { keyId, operation, name, owner }: ClaimId,
  failure: string | null,
): Promise<void> {
  const removed = await inside
    .prepare(`DELETE FROM idempotency WHERE ${MINE} AND paid_calls = 0`)
    .run(keyId, operation, name, owner)
  if (removed > 0) return
  await inside
    .prepare(
      `UPDATE idempotency SET lease_until = 0, last_failure = COALESCE($5, last_failure) WHERE ${MINE}`,
    )
    .run(keyId, operation, name, owner, failure)
}
