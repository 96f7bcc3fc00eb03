import { DAY_MS } from '../contract/time.ts'
import type { Database, Row } from '../database/database.ts'
import { MAX_CLOCK_SKEW_MS, toSharedNow } from '../database/database-clock.ts'
import { defineTable, type TableOf } from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'

/** How long an Idempotency-Key is known after its response, whatever else is kept. */
export const STORED_MS = DAY_MS

/** One use of an Idempotency-Key. Only a keyed hash of the key is stored. */
type Claim = {
  readonly keyId: string
  readonly operation: string
  readonly name: Uint8Array
  /** Keyed hash of the request: the same key with another request is a client error. */
  readonly fingerprint: Uint8Array
  /** Keyed hash of the person's number, by which an erasure finds the response. Null: the response names the person. */
  readonly subject: Uint8Array | null
  readonly owner: string
  /** By the clock of the process, which only SQLite uses: leases run on the clock that all nodes share. */
  readonly now: number
  readonly leaseMs: number
  readonly expiresAt: number
  /** A claim may be taken from a process that was last seen before this: see Nodes. Without it, its lease must end. */
  readonly deadBefore?: number | undefined
}

/** Which claim, and by which request. */
export type ClaimId = Pick<Claim, 'keyId' | 'operation' | 'name' | 'owner'>

/** The first use of an Idempotency-Key, with the paid calls that are about to be made under it. */
export type NewClaim = Omit<Claim, 'now' | 'deadBefore'> & { readonly paidCalls: number }

/** A claim that ends without a response, so that the key can be used again. */
export type Release = {
  readonly claim: ClaimId
  /** Paid calls that were not billed. */
  readonly refunded: number
  readonly failure: string | null
}

type ClaimResult =
  | {
      readonly state: 'claimed'
      /** Paid calls made under the same key so far. */
      readonly paidCalls: number
      /** Error code of the last one. */
      readonly lastFailure: string | null
    }
  /** `owner` of the claim in progress, if it has not ended meanwhile. */
  | { readonly state: 'running'; readonly owner?: string }
  | { readonly state: 'reused' }
  | { readonly state: 'done'; readonly sealed: Uint8Array }

const SAME = 'key_id = $1 AND operation = $2 AND name = $3'
const OWNED = `${SAME} AND owner = $4`
const MINE = `${OWNED} AND sealed IS NULL`
/** A running request keeps its row after it expires. */
const toOver = (now: string) => `expires_at <= ${now} AND (sealed IS NOT NULL OR lease_until <= ${now})`

/** The process that owns the claim has sent heartbeats, and sends none any more. One that has no row is left its lease. */
const OWNER_IS_DEAD = `EXISTS (SELECT 1 FROM nodes
  WHERE substr(idempotency.owner, 1, length(nodes.owner) + 1) = nodes.owner || ':'
    AND nodes.seen_at <= CAST($8 AS BIGINT))`

export const idempotencyTable = defineTable({
  writes: (database) => ({
    /** Of many concurrent requests with the same key, one gets the claim. */
    claim: (claim: Claim) => database.transaction((tx) => claimInTx(tx, claim)),
    /** Gives up a claim without a response. After a paid call the row stays, with its count and its last failure. */
    release: (claim: ClaimId, failure: string | null) =>
      database.transaction((tx) => releaseInTx(tx, claim, failure)),
    /** Whether the claim is held, and has no response. */
    isHeld: (claim: ClaimId) => holdsClaim(database, claim),
    /** Deletes some of what has expired; see delete-some.ts. */
    deleteExpired: (now: number) =>
      deleteSome(database, 'idempotency', toOver(toSharedNow(database, '$1')), now),
  }),
})
export type IdempotencyTable = TableOf<typeof idempotencyTable>

async function claimInTx(tx: Database, claim: Claim): Promise<ClaimResult> {
  const { keyId, operation, name, fingerprint, subject, owner, now, leaseMs, expiresAt } = claim
  await tx
    .prepare(
      `DELETE FROM idempotency WHERE ${toOver(toSharedNow(tx, '$1'))} AND key_id = $2 AND operation = $3 AND name = $4`,
    )
    .run(now, keyId, operation, name)
  const inserted = await tx
    .prepare(
      `INSERT INTO idempotency (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, ${toSharedNow(tx, '$7')} + CAST($8 AS BIGINT), $9) ON CONFLICT (key_id, operation, name) DO NOTHING`,
    )
    .run(keyId, operation, name, fingerprint, subject, owner, now, leaseMs, expiresAt)
  if (inserted > 0) return { state: 'claimed', paidCalls: 0, lastFailure: null }
  const row = await tx
    .prepare(`SELECT fingerprint, sealed, owner FROM idempotency WHERE ${SAME}`)
    .get(keyId, operation, name)
  if (!row) return { state: 'running' }
  if (!Buffer.from(row.fingerprint as Uint8Array).equals(fingerprint)) return { state: 'reused' }
  if (row.sealed !== null) return { state: 'done', sealed: row.sealed as Uint8Array }
  return (await takeOver(tx, claim)) ?? { state: 'running', owner: String(row.owner) }
}

/**
 * After the lease of an owner that failed, or as soon as its process is known to be dead, the next request takes the claim
 * over; the expiry stays. An owner that was only slow cannot store its response afterwards, nor make another paid call.
 * Undefined while it is still running.
 */
async function takeOver(
  tx: Database,
  { keyId, operation, name, subject, owner, leaseMs, now: processNow, deadBefore }: Claim,
): Promise<ClaimResult | undefined> {
  const now = toSharedNow(tx, '$5')
  const end = `${now} + CAST($6 AS BIGINT)`
  // Workers on SQLite send few heartbeats: the lease ends first.
  const seesDead = tx.dialect === 'postgres' && deadBefore !== undefined
  const isDead = seesDead ? `OR ${OWNER_IS_DEAD}` : ''
  const taken: Row | undefined = await tx
    .prepare(
      `UPDATE idempotency SET owner = $4, lease_until = ${end}, subject = $7
       WHERE ${SAME} AND sealed IS NULL
         AND (lease_until <= ${now} OR lease_until > ${end} + ${MAX_CLOCK_SKEW_MS} ${isDead})
       RETURNING paid_calls, last_failure`,
    )
    .get(keyId, operation, name, owner, processNow, leaseMs, subject, ...(seesDead ? [deadBefore] : []))
  return (
    taken && {
      state: 'claimed',
      paidCalls: Number(taken.paid_calls),
      lastFailure: taken.last_failure as string | null,
    }
  )
}

async function releaseInTx(
  tx: Database,
  { keyId, operation, name, owner }: ClaimId,
  failure: string | null,
): Promise<void> {
  const removed = await tx
    .prepare(`DELETE FROM idempotency WHERE ${MINE} AND paid_calls = 0`)
    .run(keyId, operation, name, owner)
  if (removed > 0) return
  await tx
    .prepare(
      `UPDATE idempotency SET lease_until = 0, last_failure = COALESCE($5, last_failure) WHERE ${MINE}`,
    )
    .run(keyId, operation, name, owner, failure)
}

/** The first response under an Idempotency-Key, stored in the same commit as its audit rows. */
export type Completion = {
  readonly claim: ClaimId
  readonly sealed: Uint8Array
  /** Until when the response is kept. */
  readonly expiresAt: number
  /** Keyed hash of the number in the response, where only the response tells it: an erasure finds it by this. */
  readonly subject?: Uint8Array | undefined
}

/** Stores a response whose Idempotency-Key was claimed before. Changes nothing if the claim was lost. */
export const COMPLETE = `UPDATE idempotency SET sealed = $5, expires_at = $6, subject = COALESCE($7, subject) WHERE ${OWNED}`

/** Stores responses whose Idempotency-Key is held. */
export async function complete(tx: Database, completions: readonly Completion[]): Promise<void> {
  const store = tx.prepare(COMPLETE)
  for (const { claim, sealed, expiresAt, subject = null } of completions) {
    const { keyId, operation, name, owner } = claim
    await store.run(keyId, operation, name, owner, sealed, expiresAt, subject)
  }
}

/** Whether the claim is still held. In PostgreSQL it then stays held until the end of the transaction. */
export async function holdsClaim(tx: Database, { keyId, operation, name, owner }: ClaimId): Promise<boolean> {
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE' : ''
  const held = tx.prepare(`SELECT 1 FROM idempotency WHERE ${MINE} ${lock}`)
  return (await held.get(keyId, operation, name, owner)) !== undefined
}
