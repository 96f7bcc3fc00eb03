import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { appendEvents } from './event-table.ts'
import { STORED_MS } from './idempotency-table.ts'
import type { Cancel, Finish, QueueGroups, Retry } from './queue-change.ts'
import { recordEnds } from './queue-ends.ts'
import { type Lane, type NewQueued, packValues, toUnpack } from './queue-rows.ts'

/** A verification as the changes of one commit find it. */
export type QueueRow = {
  readonly reference: string
  readonly lineage: string
  readonly lane: Lane
  readonly operation: string
  readonly batch: string | null
  readonly idempotency: Uint8Array | null
  readonly paid_calls: number | bigint | string
  readonly lease: string | null
  /** It has not ended. */
  readonly isOpen: boolean
  /** No process works on it: it has no lease, or one that is over. */
  readonly isFree: boolean
}

/** A change, and the row as the changes before it leave it. */
export type Held = { readonly change: Finish | Retry | Cancel; readonly row: QueueRow }

/** By reference. In PostgreSQL the rows stay locked until the end of the transaction. */
export async function lockRows(
  tx: Database,
  changes: readonly (Finish | Retry | Cancel)[],
  now: number,
): Promise<Map<string, QueueRow>> {
  if (changes.length === 0) return new Map()
  const { rows, text } = toUnpack(tx)
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE OF queued' : ''
  const found = await tx
    .prepare(
      `SELECT queued.reference, queued.lineage, queued.lane, queued.operation, queued.batch, queued.idempotency,
         queued.paid_calls, queued.lease, CASE WHEN queued.due_at IS NULL THEN 0 ELSE 1 END AS is_open,
         CASE WHEN queued.lease IS NULL OR queued.due_at <= ${toSharedNow(tx, '$2')} THEN 1 ELSE 0 END AS is_free
       FROM ${rows('$1')} JOIN queued_verifications AS queued ON queued.reference = ${text(0)}
       ORDER BY queued.reference ${lock}`,
    )
    .all(packValues([...new Set(changes.map(({ reference }) => reference))].map((each) => [each])), now)
  return new Map(
    found.map((row) => [
      String(row.reference),
      { ...(row as QueueRow), isOpen: Number(row.is_open) === 1, isFree: Number(row.is_free) === 1 },
    ]),
  )
}

export async function insertInTx(tx: Database, queued: readonly NewQueued[], now: number): Promise<void> {
  const { rows, text, number, bytes } = toUnpack(tx)
  const clock = toSharedNow(tx, '$2')
  await tx
    .prepare(
      `INSERT INTO queued_verifications (reference, key_id, lineage, mode, operation, lane, batch, paid_calls, subject,
         idempotency, question, state, accepted_at, due_at, expires_at)
       SELECT ${[0, 1, 2, 3, 4, 5, 6].map(text).join(', ')}, ${number(7)}, ${[8, 9, 10].map(bytes).join(', ')},
         'pending', ${clock}, ${clock} + ${number(11)}, ${clock} + ${number(12)} FROM ${rows('$1')}`,
    )
    .run(packValues(queued.map(toValues)), now)
}

const toValues = (row: NewQueued) => [
  row.reference,
  row.keyId,
  row.lineage,
  row.mode,
  row.operation,
  row.lane,
  row.batch ?? null,
  row.paidCalls ?? 0,
  row.subject,
  row.idempotency ?? null,
  row.question,
  row.delayMs,
  row.lifeMs,
]

/** The rows are as the plan found them. The database checks it too: a change without the right to its row is never written. */
function toIsHeld(reference: string, lease: string) {
  return `queued.reference = ${reference} AND queued.due_at IS NOT NULL AND COALESCE(queued.lease, '') = ${lease}`
}

function requireAll(changed: number, wanted: readonly unknown[]): void {
  if (changed !== wanted.length) throw new Error('a change of the queue without the right to its row')
}

/** The next attempt is due after the delay. */
export async function retryInTx(
  tx: Database,
  retries: readonly (Held & { readonly change: Retry })[],
  now: number,
): Promise<void> {
  const { rows, text, number } = toUnpack(tx)
  const changed = await tx
    .prepare(
      `UPDATE queued_verifications AS queued SET lease = NULL, due_at = ${toSharedNow(tx, '$2')} + ${number(1)},
         attempts = queued.attempts + ${number(2)}
       FROM ${rows('$1')} WHERE ${toIsHeld(text(0), text(3))}`,
    )
    .run(
      packValues(
        retries.map(({ change: { reference, delayMs, isAttempt }, row }) => [
          reference,
          delayMs,
          isAttempt ? 1 : 0,
          row.lease ?? '',
        ]),
      ),
      now,
    )
  requireAll(changed, retries)
}

/** The end of a verification, and its row before it. */
export type Ending = { readonly finish: Finish; readonly row: QueueRow }

/** The questions are erased. */
export async function finishInTx(
  tx: Database,
  groups: QueueGroups,
  endings: readonly Ending[],
  now: number,
): Promise<void> {
  const { rows, text, number, bytes } = toUnpack(tx)
  const changed = await tx
    .prepare(
      `UPDATE queued_verifications AS queued SET state = ${text(1)}, outcome = ${text(2)}, answer = ${bytes(3)},
         expires_at = ${toSharedNow(tx, '$2')} + ${number(4)}, question = NULL, due_at = NULL, lease = NULL,
         subject = COALESCE(${bytes(5)}, queued.subject)
       FROM ${rows('$1')} WHERE ${toIsHeld(text(0), text(6))}`,
    )
    .run(packValues(endings.map(toFinishValues)), now)
  requireAll(changed, endings)
  for (const { row, finish } of endings) if (row.idempotency) await replaceStored(tx, row, finish, now)
  await recordEnds(
    tx,
    groups,
    endings.map(({ row, finish: { outcome } }) => ({ ...row, outcome })),
  )
  await appendEvents(
    tx,
    endings.flatMap(({ finish: { event } }) => event ?? []),
  )
}

const toFinishValues = ({ finish, row }: Ending) => {
  const { reference, state, outcome, answer, keepMs, subject } = finish
  return [reference, state, outcome, answer ?? null, keepMs, subject ?? null, row.lease ?? '']
}

/** The row that holds the response "pending". An erased response stays erased. */
const STORED = 'key_id = $1 AND operation = $2 AND name = $3 AND sealed IS NOT NULL'

/** The answer takes the place of the response "pending". */
async function replaceStored(tx: Database, row: QueueRow, finish: Finish, now: number): Promise<void> {
  const { lineage, operation, idempotency } = row
  const { stored, subject } = finish
  if (!stored) return freeKey(tx, row, now)
  const until = `${toSharedNow(tx, '$5')} + ${STORED_MS}`
  await tx
    .prepare(
      `UPDATE idempotency SET sealed = $4, expires_at = ${until}, subject = COALESCE($6, subject) WHERE ${STORED}`,
    )
    .run(lineage, operation, idempotency, stored, now, subject ?? null)
}

/** The Idempotency-Key can be used again. After a paid call its row stays, with the count. */
async function freeKey(
  tx: Database,
  { lineage, operation, idempotency, paid_calls }: QueueRow,
  now: number,
): Promise<void> {
  const paidCalls = Number(paid_calls)
  if (paidCalls === 0) {
    await tx.prepare(`DELETE FROM idempotency WHERE ${STORED}`).run(lineage, operation, idempotency)
    return
  }
  const until = `${toSharedNow(tx, '$5')} + ${STORED_MS}`
  await tx
    .prepare(
      `UPDATE idempotency SET sealed = NULL, lease_until = 0, paid_calls = $4, expires_at = ${until} WHERE ${STORED}`,
    )
    .run(lineage, operation, idempotency, paidCalls, now)
}
