import { countLabels, countVerifications, eraseVerifications } from '../batches/batch-feed.ts'
import { HOUR_MS } from '../contract/time.ts'
import type { Database } from '../database/database.ts'
import type { Reader } from '../database/define-table.ts'
import { toPersonLock } from '../ledger/guess-table.ts'
import { NO_PAID_CALLS_LEFT } from '../ledger/paid-calls.ts'
import { type EndedQueued, eraseAnswered } from '../ledger/queue-counts.ts'
import { REGISTRY_LOCK } from '../registry/save-records.ts'
import { toRecentExpiry } from './kept-answers.ts'
import { IN_FLIGHT_MS, insertEarlierTombstone, type Tombstone, wasJustErased } from './tombstone-table.ts'

/** One person, and the id of the erasure. */
export type ErasureSubject = Omit<Tombstone, 'erasedAt'> & {
  /** Stored responses about this person that name no subject. */
  readonly unnamed: readonly UnnamedAnswer[]
  /** Those that name it, and claims of running requests. */
  readonly named: readonly NamedAnswer[]
  /** Rows that expire later than this may have been stored since these were listed. */
  readonly recentFrom: number
}

/** A stored response about a virtual NIN: its subject is known only after it is unsealed. */
export type UnnamedAnswer = { readonly operation: string; readonly keyId: string; readonly name: Uint8Array }

export type NamedAnswer = UnnamedAnswer & {
  /** In hex. */
  readonly subject: string
  /** Else it is a claim without a response. */
  readonly isStored: boolean
}

/** How many rows of each kind. */
export type Erased = {
  readonly records: number
  readonly pictures: number
  /** Responses stored under Idempotency-Keys. */
  readonly keptAnswers: number
  /** Results of vendors stored for reuse. */
  readonly reusedResults: number
  /** Verifications in the queue: questions that wait, and answers that are kept. */
  readonly queued: number
  /** Callers' words for rows of batches. */
  readonly batchLabels: number
}

/** With the verifications that were still waiting, which end here. */
type ErasedRows = Erased & { readonly ended: readonly EndedQueued[] }

export type EarlierErasure = ErasureSubject & Pick<Tombstone, 'erasedAt'>

export type ErasedAgain = ErasedRows & { readonly erasure: Tombstone }

/** By the index on the expiry and the subject. */
const RECENT = 'subject = $1 AND expires_at >= $2'
const BY_ID = 'subject = $1 AND key_id = $2 AND operation = $3 AND name = $4'
const VOID_CLAIM = "UPDATE idempotency SET owner = '', lease_until = 0"
/** The response is deleted. The row stays, with its budget of paid calls used up. */
const REMOVE = `UPDATE idempotency SET sealed = NULL, owner = '', lease_until = 0, paid_calls = ${NO_PAID_CALLS_LEFT}`

/**
 * In the transaction of a restore, or in one of its own. A lock for each person is too much for PostgreSQL if there are thousands:
 * a restore, during which no server runs, takes none.
 */
export async function eraseAgainInTx(
  tx: Database,
  erasures: readonly EarlierErasure[],
  now: number,
  locks: 'person' | 'none',
): Promise<ErasedAgain[]> {
  const done: ErasedAgain[] = []
  for (const erasure of erasures)
    if (await insertEarlierTombstone(tx, erasure))
      done.push({ ...(await eraseInTx(tx, erasure, now, locks)), erasure })
  return done
}

export async function countAll(database: Reader, subject: ErasureSubject): Promise<Erased> {
  const count = async (from: string, value: Uint8Array) =>
    Number((await database.prepare(`SELECT COUNT(*) AS found FROM ${from}`).get(value))?.found)
  return {
    records: await count('registry WHERE subject = $1', subject.record),
    pictures: await count('media WHERE subject = $1', subject.record),
    keptAnswers: subject.unnamed.length + subject.named.filter(({ isStored }) => isStored).length,
    reusedResults: await count(
      'reused_results WHERE subject = $1 AND length(sealed) > 0',
      subject.reusedResult,
    ),
    queued: await countVerifications(database, subject.subject),
    batchLabels: await countLabels(database, subject.subject),
  }
}

export async function eraseInTx(
  tx: Database,
  subject: Omit<ErasureSubject, 'id' | 'kind'>,
  now: number,
  locks: 'person' | 'none' = 'person',
): Promise<ErasedRows> {
  // First, as in queue-changes.ts: another order of the locks would be a deadlock.
  const { queued, ended, labels } = await eraseVerifications(tx, subject.subject)
  await tx.lock(REGISTRY_LOCK)
  // A response about this person is stored either before this, and deleted below, or after it, and then refused.
  if (locks === 'person') await tx.lock(toPersonLock(subject.subject))
  const remove = (sql: string, value: Uint8Array) => tx.prepare(sql).run(value)
  const pictures = await remove('DELETE FROM media WHERE subject = $1', subject.record)
  const records = await remove('DELETE FROM registry WHERE subject = $1', subject.record)
  let keptAnswers = await eraseKept(tx, subject)
  for (const { operation, keyId, name } of subject.unnamed)
    keptAnswers += await tx
      .prepare(`${REMOVE} WHERE key_id = $1 AND operation = $2 AND name = $3 AND subject IS NULL`)
      .run(keyId, operation, name)
  return {
    records,
    pictures,
    keptAnswers,
    reusedResults: await eraseReused(tx, subject.reusedResult, now),
    queued,
    batchLabels: labels,
    ended,
  }
}

/** First voids the claims of running requests: from then on, no response can be stored in these rows. */
export async function eraseKept(
  tx: Database,
  { subject, named, recentFrom }: Pick<ErasureSubject, 'subject' | 'named' | 'recentFrom'>,
): Promise<number> {
  const ids = named.map(({ keyId, operation, name }) => [subject, keyId, operation, name])
  await tx.prepare(`${VOID_CLAIM} WHERE ${BY_ID}`).runAll(ids)
  await tx.prepare(`${VOID_CLAIM} WHERE ${RECENT}`).run(subject, recentFrom)
  const listed = await tx.prepare(`${REMOVE} WHERE ${BY_ID} AND sealed IS NOT NULL`).runAll(ids)
  return listed + (await removeRecent(tx, subject, recentFrom))
}

const removeRecent = (tx: Database, subject: Uint8Array, recentFrom: number) =>
  tx.prepare(`${REMOVE} WHERE ${RECENT} AND sealed IS NOT NULL`).run(subject, recentFrom)

/** The answer was just stored. It may have waited for the database, which was away. */
const LATE_MS = HOUR_MS

export async function eraseLate(tx: Database, subject: Uint8Array): Promise<number> {
  if (!(await wasJustErased(tx, subject))) return 0
  const queued = await eraseAnswered(tx, subject)
  return queued + (await removeRecent(tx, subject, toRecentExpiry(LATE_MS)))
}

/** An empty row stays for a minute: see `keep` in reuse-table.ts. */
async function eraseReused(tx: Database, subject: Uint8Array, now: number): Promise<number> {
  const removed = await tx
    .prepare('DELETE FROM reused_results WHERE subject = $1 AND length(sealed) > 0')
    .run(subject)
  await tx
    .prepare(
      `INSERT INTO reused_results (subject, sealed, expires_at) VALUES ($1, $2, $3)
       ON CONFLICT (subject) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at`,
    )
    .run(subject, new Uint8Array(0), now + IN_FLIGHT_MS)
  return removed
}
