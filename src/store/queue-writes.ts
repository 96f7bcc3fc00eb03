import { DAY_MS } from '../contract/time.ts'
import type { Database } from './database.ts'
import { toSharedNow } from './database-clock.ts'
import { appendEvents } from './event-table.ts'
import type { Cancel, Finish, Retry } from './queue-change.ts'
import { recordEnds } from './queue-ends.ts'
import { type Lane, type NewQueued, packValues, toUnpack } from './queue-rows.ts'

/** A pending verification that may be changed. */
export type HeldRow = {
  readonly reference: string
  readonly lineage: string
  readonly lane: Lane
  readonly operation: string
  readonly batch: string | null
  readonly idempotency: Uint8Array | null
  readonly paid_calls: number | bigint | string
}

/**
 * By reference, the rows that may be changed: under the given lease, or, to be cancelled by its caller, under no lease. In
 * PostgreSQL they stay locked until the end of the transaction.
 */
export async function lockHeld(
  inside: Database,
  changes: readonly (Finish | Retry | Cancel)[],
  now: number,
): Promise<ReadonlyMap<string, HeldRow>> {
  if (changes.length === 0) return new Map()
  const { rows, text } = toUnpack(inside)
  const lock = inside.dialect === 'postgres' ? 'FOR UPDATE OF queued' : ''
  const found = await inside
    .prepare(
      `SELECT queued.reference, queued.lineage, queued.lane, queued.operation, queued.batch, queued.idempotency,
         queued.paid_calls
       FROM ${rows('$1')} JOIN queued_verifications AS queued ON queued.reference = ${text(0)}
       WHERE queued.due_at IS NOT NULL AND (queued.lease = ${text(1)} OR (queued.lineage = ${text(2)}
         AND (queued.lease IS NULL OR queued.due_at <= ${toSharedNow(inside, '$2')})))
       ORDER BY queued.reference ${lock}`,
    )
    .all(packValues(changes.map(toWanted)), now)
  return new Map(found.map((row) => [String(row.reference), row as HeldRow]))
}

const toWanted = (change: Finish | Retry | Cancel) =>
  change.kind === 'cancel' ? [change.reference, null, change.lineage] : [change.reference, change.lease, null]

export async function insertInside(
  inside: Database,
  queued: readonly NewQueued[],
  now: number,
): Promise<void> {
  const { rows, text, number, bytes } = toUnpack(inside)
  const clock = toSharedNow(inside, '$2')
  await inside
    .prepare(
      `INSERT INTO queued_verifications (reference, key_id, lineage, mode, operation, lane, batch, paid_calls, subject,
         idempotency, question, state, accepted_at, due_at, expires_at)
       SELECT ${[0, 1, 2, 3, 4, 5, 6].map(text).join(', ')}, ${number(7)}, ${[8, 9, 10].map(bytes).join(', ')},
         'pending', ${clock}, ${clock} + ${number(11)}, ${clock} + ${number(12)} FROM ${rows('$1')}`,
    )
    .run(packValues(queued.map(toValues)), now)
}

const toValues = (row: NewQueued) => [
  ...[row.reference, row.keyId, row.lineage, row.mode, row.operation, row.lane],
  ...[row.batch ?? null, row.paidCalls ?? 0],
  ...[row.subject, row.idempotency ?? null, row.question, row.delayMs, row.lifeMs],
]

/** The next attempt is due after the delay. The rows are held. */
export async function retryInside(inside: Database, retries: readonly Retry[], now: number): Promise<void> {
  const { rows, text, number } = toUnpack(inside)
  await inside
    .prepare(
      `UPDATE queued_verifications AS queued SET lease = NULL, due_at = ${toSharedNow(inside, '$2')} + ${number(1)},
         attempts = queued.attempts + ${number(2)}
       FROM ${rows('$1')} WHERE queued.reference = ${text(0)}`,
    )
    .run(
      packValues(retries.map(({ reference, delayMs, isAttempt }) => [reference, delayMs, isAttempt ? 1 : 0])),
      now,
    )
}

/** The end of verifications that are held. The questions are erased. */
export async function finishInside(
  inside: Database,
  finished: readonly Finish[],
  held: ReadonlyMap<string, HeldRow>,
  now: number,
): Promise<void> {
  const { rows, text, number, bytes } = toUnpack(inside)
  await inside
    .prepare(
      `UPDATE queued_verifications AS queued SET state = ${text(1)}, outcome = ${text(2)}, answer = ${bytes(3)},
         expires_at = ${toSharedNow(inside, '$2')} + ${number(4)}, question = NULL, due_at = NULL, lease = NULL,
         subject = COALESCE(${bytes(5)}, queued.subject)
       FROM ${rows('$1')} WHERE queued.reference = ${text(0)}`,
    )
    .run(packValues(finished.map(toFinishValues)), now)
  for (const finish of finished) {
    const row = held.get(finish.reference)
    if (row?.idempotency) await replaceStored(inside, row, finish, now)
  }
  const ends = finished.flatMap(({ reference, outcome }) => {
    const row = held.get(reference)
    return row ? [{ ...row, outcome }] : []
  })
  await recordEnds(inside, ends)
  await appendEvents(
    inside,
    finished.flatMap(({ event }) => event ?? []),
  )
}

const toFinishValues = ({ reference, state, outcome, answer, keepMs, subject }: Finish) => [
  ...[reference, state, outcome, answer ?? null, keepMs, subject ?? null],
]

/** The row that holds the response "pending". An erased response stays erased. */
const STORED = 'key_id = $1 AND operation = $2 AND name = $3 AND sealed IS NOT NULL'

/** The answer takes the place of the response "pending". */
async function replaceStored(inside: Database, row: HeldRow, finish: Finish, now: number): Promise<void> {
  const { lineage, operation, idempotency } = row
  const { stored, keepMs, subject } = finish
  if (!stored) return freeKey(inside, row, now)
  const until = `${toSharedNow(inside, '$5')} + CAST($6 AS BIGINT)`
  await inside
    .prepare(
      `UPDATE idempotency SET sealed = $4, expires_at = ${until}, subject = COALESCE($7, subject) WHERE ${STORED}`,
    )
    .run(lineage, operation, idempotency, stored, now, keepMs, subject ?? null)
}

/** The Idempotency-Key can be used again. After a paid call its row stays, with the count. */
async function freeKey(
  inside: Database,
  { lineage, operation, idempotency, paid_calls }: HeldRow,
  now: number,
): Promise<void> {
  const paidCalls = Number(paid_calls)
  if (paidCalls === 0) {
    await inside.prepare(`DELETE FROM idempotency WHERE ${STORED}`).run(lineage, operation, idempotency)
    return
  }
  const until = `${toSharedNow(inside, '$5')} + ${DAY_MS}`
  await inside
    .prepare(
      `UPDATE idempotency SET sealed = NULL, lease_until = 0, paid_calls = $4, expires_at = ${until} WHERE ${STORED}`,
    )
    .run(lineage, operation, idempotency, paidCalls, now)
}
