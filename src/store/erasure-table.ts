import { countBatchRows, eraseBatchRows, lockBatchRows } from './batch-erasure.ts'
import type { Database } from './database.ts'
import { toPersonLock } from './guess-table.ts'
import { NO_PAID_CALLS_LEFT } from './paid-calls.ts'
import { countQueued, type EndedQueued, eraseQueued } from './queue-erasure.ts'
import { REGISTRY_LOCK } from './save-records.ts'

/** One person. Each table knows the number by a keyed hash of its own. */
export type ErasureSubject = {
  readonly record: Uint8Array
  readonly reusedResult: Uint8Array
  readonly keptAnswers: Uint8Array
  /** Stored responses about this person that name no subject. */
  readonly unnamed: readonly UnnamedAnswer[]
}

/** A stored response about a virtual NIN, or written by an older version: its subject is known only after it is unsealed. */
export type UnnamedAnswer = { readonly operation: string; readonly keyId: string; readonly name: Uint8Array }

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
}

/** With the references of the verifications that were still waiting: they end here. */
type ErasedRows = Erased & { readonly ended: readonly EndedQueued[] }

export type ErasureTable = {
  readonly count: (subject: ErasureSubject) => Promise<Erased>
  /** Deletes everything about the person in one commit, and returns the counts. */
  readonly erase: (subject: ErasureSubject, now: number) => Promise<ErasedRows>
  /**
   * Deletes the stored responses once more after an erasure, and returns how many there were: in PostgreSQL a request may
   * have begun, read the record and stored its response while the erasure ran.
   */
  readonly eraseKept: (keptAnswers: Uint8Array) => Promise<number>
  /** The next stored responses that name no subject. */
  readonly listUnnamed: (
    after: UnnamedAnswer,
    most: number,
  ) => Promise<(UnnamedAnswer & { readonly sealed: Uint8Array })[]>
}

/** Longer than any verification takes: one that was running during the erasure stores no result for reuse. */
const NOT_KEPT_MS = 60_000

/** Of all rows, by the index on the expiry and the subject: see migration 20. */
const ABOUT = 'expires_at >= 0 AND subject = $1'
const NAMED = `${ABOUT} AND sealed IS NOT NULL`
/** The response is deleted. The row stays, with its budget of paid calls used up. */
const REMOVE = `UPDATE idempotency SET sealed = NULL, owner = '', lease_until = 0, paid_calls = ${NO_PAID_CALLS_LEFT}`

export function createErasureTable(database: Database): ErasureTable {
  return {
    count: (subject) => countAll(database, subject),
    erase: (subject, now) => database.transaction((inside) => eraseInside(inside, subject, now)),
    eraseKept: (keptAnswers) => database.transaction((inside) => eraseKept(inside, keptAnswers)),
    listUnnamed: async ({ operation, keyId, name }, most) => {
      const rows = await database
        .prepare(
          `SELECT key_id, name, sealed FROM idempotency
           WHERE expires_at >= 0 AND subject IS NULL AND sealed IS NOT NULL AND operation = $1
             AND (key_id || '', name) > ($2, $3)
           ORDER BY key_id || '', name LIMIT $4`,
        )
        .all(operation, keyId, name, most)
      return rows.map((row) => ({
        operation,
        keyId: String(row.key_id),
        name: row.name as Uint8Array,
        sealed: row.sealed as Uint8Array,
      }))
    },
  }
}

async function countAll(database: Database, subject: ErasureSubject): Promise<Erased> {
  const count = async (from: string, value: Uint8Array) =>
    Number((await database.prepare(`SELECT COUNT(*) AS found FROM ${from}`).get(value))?.found)
  return {
    records: await count('registry WHERE subject = $1', subject.record),
    pictures: await count('media WHERE subject = $1', subject.record),
    keptAnswers: subject.unnamed.length + (await count(`idempotency WHERE ${NAMED}`, subject.keptAnswers)),
    reusedResults: await count(
      'reused_results WHERE subject = $1 AND length(sealed) > 0',
      subject.reusedResult,
    ),
    queued:
      (await countQueued(database, subject.keptAnswers)) +
      (await countBatchRows(database, subject.keptAnswers)),
  }
}

async function eraseInside(inside: Database, subject: ErasureSubject, now: number): Promise<ErasedRows> {
  // First, as in append-audit.ts: another order of the locks would be a deadlock.
  await lockBatchRows(inside)
  const { queued, ended } = await eraseQueued(inside, subject.keptAnswers)
  const rows = await eraseBatchRows(inside, subject.keptAnswers)
  await inside.lock(REGISTRY_LOCK)
  // A response about this person is stored either before this, and deleted below, or after it, and then refused.
  await inside.lock(toPersonLock(subject.keptAnswers))
  const remove = (sql: string, value: Uint8Array) => inside.prepare(sql).run(value)
  const pictures = await remove('DELETE FROM media WHERE subject = $1', subject.record)
  const records = await remove('DELETE FROM registry WHERE subject = $1', subject.record)
  let keptAnswers = await eraseKept(inside, subject.keptAnswers)
  for (const { operation, keyId, name } of subject.unnamed)
    keptAnswers += await inside
      .prepare(`${REMOVE} WHERE key_id = $1 AND operation = $2 AND name = $3 AND subject IS NULL`)
      .run(keyId, operation, name)
  return {
    records,
    pictures,
    keptAnswers,
    reusedResults: await eraseReused(inside, subject.reusedResult, now),
    queued: queued + rows.length,
    ended: [...ended, ...rows],
  }
}

/** First voids the claims of running requests: from then on, no response can be stored in these rows. */
async function eraseKept(inside: Database, keptAnswers: Uint8Array): Promise<number> {
  await inside.prepare(`UPDATE idempotency SET owner = '', lease_until = 0 WHERE ${ABOUT}`).run(keptAnswers)
  return inside.prepare(`${REMOVE} WHERE ${NAMED}`).run(keptAnswers)
}

/** An empty row stays for a minute: see `keep` in reuse-table.ts. */
async function eraseReused(inside: Database, subject: Uint8Array, now: number): Promise<number> {
  const removed = await inside
    .prepare('DELETE FROM reused_results WHERE subject = $1 AND length(sealed) > 0')
    .run(subject)
  await inside
    .prepare(
      `INSERT INTO reused_results (subject, sealed, expires_at) VALUES ($1, $2, $3)
       ON CONFLICT (subject) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at`,
    )
    .run(subject, new Uint8Array(0), now + NOT_KEPT_MS)
  return removed
}
