import type { Database, Row } from './database.ts'

/** One use of an Idempotency-Key. The key itself is not kept, only a keyed hash of it. */
export type Claim = {
  readonly keyId: string
  readonly operation: string
  readonly name: Uint8Array
  /** Keyed hash of the request: the same key with another request is a mistake of the caller. */
  readonly fingerprint: Uint8Array
  /** Keyed hash of the person's number, by which an erasure finds the answer. */
  readonly subject: Uint8Array
  readonly owner: string
  readonly now: number
  readonly leaseUntil: number
  readonly expiresAt: number
}

/** Which claim, and by which request. */
export type ClaimId = Pick<Claim, 'keyId' | 'operation' | 'name' | 'owner'>

export type ClaimResult =
  | {
      readonly state: 'claimed'
      /** Paid calls that were made under the same key before. */
      readonly paidCalls: number
      /** Code of the error that the last one ended with. */
      readonly lastFailure: string | null
    }
  | { readonly state: 'running' }
  | { readonly state: 'reused' }
  | { readonly state: 'done'; readonly sealed: Uint8Array }

export type IdempotencyTable = {
  /** Inserts first, under the unique key: of many at once, one is told that it may go on. */
  readonly claim: (claim: Claim) => Promise<ClaimResult>
  /** Gives up a claim whose answer must not be frozen. One that was paid for leaves its count and its failure. */
  readonly release: (claim: ClaimId, failure: string | null) => Promise<void>
  readonly forget: (now: number) => Promise<void>
}

/** The clocks of two nodes are never this far apart. */
const CLOCKS_APART_MS = 600_000

const SAME = 'key_id = $1 AND operation = $2 AND name = $3'
const MINE = `${SAME} AND owner = $4 AND sealed IS NULL`
/** A request that is under way keeps its row past the end. */
const OVER = 'expires_at <= $1 AND (sealed IS NOT NULL OR lease_until <= $1)'

export function createIdempotencyTable(database: Database): IdempotencyTable {
  return {
    claim: (claim) => database.transaction((inside) => claimInside(inside, claim)),
    release: (claim, failure) => database.transaction((inside) => releaseInside(inside, claim, failure)),
    forget: async (now) => {
      await database.prepare(`DELETE FROM idempotency WHERE ${OVER}`).run(now)
    },
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
 * The owner has failed or crashed: after its lease, one of those who come takes over. The time to the end goes on. A lease
 * that ends far later than one that begins now was taken while the clock was ahead.
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
    .get(keyId, operation, name, owner, leaseUntil, subject, now, leaseUntil + CLOCKS_APART_MS)
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
