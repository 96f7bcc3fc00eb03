import type { Database } from './database.ts'

/** One use of an Idempotency-Key. The key itself is not kept, only a keyed hash of it. */
export type Claim = {
  readonly keyId: string
  readonly operation: string
  readonly name: Uint8Array
  /** Keyed hash of the request: the same key with another request is a mistake of the caller. */
  readonly fingerprint: Uint8Array
  readonly owner: string
  readonly now: number
  readonly leaseUntil: number
  readonly expiresAt: number
}

export type ClaimResult =
  | { readonly state: 'claimed' }
  | { readonly state: 'running' }
  | { readonly state: 'reused' }
  | { readonly state: 'done'; readonly sealed: Uint8Array }

export type IdempotencyTable = {
  /** Inserts first, under the unique key: of many at once, one is told that it may go on. */
  readonly claim: (claim: Claim) => Promise<ClaimResult>
  /** Gives up a claim whose answer must not be frozen. */
  readonly release: (claim: Pick<Claim, 'keyId' | 'operation' | 'name' | 'owner'>) => Promise<void>
  readonly forget: (now: number) => Promise<void>
}

const SAME = 'key_id = $1 AND operation = $2 AND name = $3'

export function createIdempotencyTable(database: Database): IdempotencyTable {
  return {
    claim: (claim) => database.transaction((inside) => claimInside(inside, claim)),
    release: async ({ keyId, operation, name, owner }) => {
      await database
        .prepare(`DELETE FROM idempotency WHERE ${SAME} AND owner = $4 AND sealed IS NULL`)
        .run(keyId, operation, name, owner)
    },
    forget: async (now) => {
      await database.prepare('DELETE FROM idempotency WHERE expires_at <= $1').run(now)
    },
  }
}

async function claimInside(inside: Database, claim: Claim): Promise<ClaimResult> {
  const { keyId, operation, name, fingerprint, owner, now, leaseUntil, expiresAt } = claim
  await inside
    .prepare(`DELETE FROM idempotency WHERE ${SAME} AND expires_at <= $4`)
    .run(keyId, operation, name, now)
  const inserted = await inside
    .prepare(
      `INSERT INTO idempotency (key_id, operation, name, fingerprint, owner, lease_until, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (key_id, operation, name) DO NOTHING`,
    )
    .run(keyId, operation, name, fingerprint, owner, leaseUntil, expiresAt)
  if (inserted > 0) return { state: 'claimed' }
  const row = await inside
    .prepare(`SELECT fingerprint, sealed FROM idempotency WHERE ${SAME}`)
    .get(keyId, operation, name)
  if (!row) return { state: 'running' }
  if (!Buffer.from(row.fingerprint as Uint8Array).equals(fingerprint)) return { state: 'reused' }
  if (row.sealed !== null) return { state: 'done', sealed: row.sealed as Uint8Array }
  // The owner may have crashed: after its lease, one of those who come takes over.
  const taken = await inside
    .prepare(
      `UPDATE idempotency SET owner = $4, lease_until = $5, expires_at = $6
       WHERE ${SAME} AND sealed IS NULL AND lease_until <= $7`,
    )
    .run(keyId, operation, name, owner, leaseUntil, expiresAt, now)
  return { state: taken > 0 ? 'claimed' : 'running' }
}
