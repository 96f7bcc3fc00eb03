import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import type { Appended, Refused } from './commit.ts'
import { appendEvents } from './event-table.ts'
import { complete, holdsClaim, STORED_MS } from './idempotency-table.ts'
import { addToCounts, countLane, lockCounts, recordEnds, toCountName } from './queue-counts.ts'
import {
  type Cancel,
  type Enqueue,
  type Finish,
  type Lane,
  type NewQueued,
  packValues,
  type QueueBatch,
  type QueueChange,
  type QueueGroups,
  type QueueLimits,
  type QueueRefusal,
  type Retry,
  toUnpack,
} from './queue-rows.ts'

export const NO_CHANGES: QueueBatch = { now: 0, changes: [] }

/** Makes the changes of the queue if neither they nor the rows are refused. */
export async function withQueueChanges(
  tx: Database,
  groups: QueueGroups,
  queue: QueueBatch,
  append: () => Promise<Appended>,
): Promise<Appended> {
  if (queue.changes.length === 0) return append()
  const { refused, write } = await planQueueChanges(tx, groups, queue)
  if (refused.length > 0) return { refused, late: [] }
  const appended = await append()
  if (appended.refused.length === 0) await write()
  return appended
}

/** Adds all rows in a transaction, or none. */
export async function enqueueInTx(
  tx: Database,
  groups: QueueGroups,
  rows: readonly NewQueued[],
  limits: QueueLimits,
  now: number,
): Promise<'queued' | 'full'> {
  const changes = rows.map((row, index) => [index, { kind: 'enqueue', row, limits }] as const)
  const { refused, write } = await planQueueChanges(tx, groups, { now, changes })
  if (refused.length > 0) return 'full'
  await write()
  return 'queued'
}

type Plan = { readonly refused: Refused<QueueRefusal>; readonly write: () => Promise<void> }

/**
 * Decides on all changes in their order, as if they came one by one. They are made by `write`, in the same transaction, if none
 * is refused.
 */
async function planQueueChanges(
  tx: Database,
  groups: QueueGroups,
  { now, changes }: QueueBatch,
): Promise<Plan> {
  const all = changes.map(([, change]) => change)
  const rows = await lockRows(tx, all.filter(isHeld), now)
  const added = all.flatMap((change) => (change.kind === 'enqueue' ? [change.row] : []))
  const counts = await lockCounts(tx, [...added, ...rows.values()])
  const room = await countRoom(tx, added, counts)
  const ofGroups = all.filter((change) => change.kind === 'group')
  const mayChange = await groups.lock(tx, ofGroups, [...rows.values()])
  const refused: [number, QueueRefusal][] = []
  const held: Held[] = []
  for (const [position, change] of changes) {
    const refusal = isHeld(change)
      ? hold(rows, held, change)
      : change.kind === 'group'
        ? refuseUnless(mayChange(change))
        : await admit(tx, room, change)
    if (refusal) refused.push([position, refusal])
    else if (isHeld(change) && change.kind !== 'retry') room.add(held.at(-1)?.row, -1)
  }
  const enqueued = all.filter((change) => change.kind === 'enqueue')
  const write = async () => {
    await writeAll(tx, groups, enqueued, held, now)
    for (const change of ofGroups) await groups.write(tx, change, now)
  }
  return { refused, write }
}

const isHeld = (change: QueueChange): change is Finish | Retry | Cancel =>
  change.kind === 'finish' || change.kind === 'retry' || change.kind === 'cancel'

const refuseUnless = (mayChange: boolean): QueueRefusal | undefined => (mayChange ? undefined : 'lease_lost')

/** Refuses a change without the right to the row. One that is refused leaves the row as it is for the changes after it. */
function hold(rows: Map<string, QueueRow>, held: Held[], change: Held['change']): QueueRefusal | undefined {
  const row = rows.get(change.reference)
  if (!row?.isOpen) return 'lease_lost'
  const mayChange =
    change.kind === 'cancel'
      ? row.lineage === change.lineage && row.isFree
      : row.lease !== null && row.lease === change.lease
  if (!mayChange) return 'lease_lost'
  held.push({ change, row })
  rows.set(change.reference, { ...row, lease: null, isFree: true, isOpen: change.kind === 'retry' })
  return undefined
}

type Room = Awaited<ReturnType<typeof countRoom>>

/** The pending verifications by key and in all, with those that the changes before in the same commit add and end. */
async function countRoom(tx: Database, added: readonly NewQueued[], counted: ReadonlyMap<string, number>) {
  const counts = new Map(counted)
  const lanes = new Map<Lane, number>()
  for (const { lane } of added) if (!lanes.has(lane)) lanes.set(lane, await countLane(tx, lane))
  return {
    read: (row: NewQueued) => ({
      ofKey: counts.get(toCountName(row)) ?? 0,
      ofLane: lanes.get(row.lane) ?? 0,
    }),
    add: (row: Pick<NewQueued, 'lineage' | 'lane'> | undefined, change: 1 | -1) => {
      if (!row) return
      const name = toCountName(row)
      counts.set(name, (counts.get(name) ?? 0) + change)
      lanes.set(row.lane, (lanes.get(row.lane) ?? 0) + change)
    },
  }
}

async function admit(
  tx: Database,
  room: Room,
  { row, limits, completion }: Enqueue,
): Promise<QueueRefusal | undefined> {
  const { ofKey, ofLane } = room.read(row)
  if (ofKey >= limits.perKey || ofLane >= limits.all) return 'queue_full'
  if (completion && !(await holdsClaim(tx, completion.claim))) return 'lease_lost'
  room.add(row, 1)
  return undefined
}

async function writeAll(
  tx: Database,
  groups: QueueGroups,
  enqueued: readonly Enqueue[],
  held: readonly Held[],
  now: number,
): Promise<void> {
  const rows = enqueued.map(({ row }) => row)
  // Of one verification, an end can follow the end of an attempt, and nothing follows its end.
  const [retried, ended] = [held.filter(isRetry), held.filter((each) => !isRetry(each))]
  if (rows.length > 0) await insertInTx(tx, rows, now)
  if (retried.length > 0) await retryInTx(tx, retried, now)
  if (ended.length > 0) await finishInTx(tx, groups, ended.map(toEnding), now)
  await addToCounts(tx, rows, 1)
  await complete(
    tx,
    enqueued.flatMap(({ completion }) => completion ?? []),
  )
}

const isRetry = (held: Held): held is Held & { readonly change: Retry } => held.change.kind === 'retry'

const toEnding = ({ row, change }: Held): Ending => ({
  row,
  finish: change.kind === 'cancel' ? toFinish(change) : (change as Finish),
})

const toFinish = ({ reference, keepMs }: Cancel): Finish => ({
  kind: 'finish',
  state: 'cancelled',
  outcome: 'cancelled',
  lease: '',
  reference,
  keepMs,
  answer: undefined,
  stored: undefined,
})

/** A verification as the changes of one commit find it. */
type QueueRow = {
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
type Held = { readonly change: Finish | Retry | Cancel; readonly row: QueueRow }

/** By reference. In PostgreSQL the rows stay locked until the end of the transaction. */
async function lockRows(
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
async function retryInTx(
  tx: Database,
  retries: readonly (Held & { readonly change: Retry })[],
  now: number,
): Promise<void> {
  const { rows, text, number, bytes } = toUnpack(tx)
  const changed = await tx
    .prepare(
      `UPDATE queued_verifications AS queued SET lease = NULL, due_at = ${toSharedNow(tx, '$2')} + ${number(1)},
         attempts = queued.attempts + ${number(2)}, paid_calls = queued.paid_calls - ${number(4)},
         question = COALESCE(${bytes(5)}, queued.question)
       FROM ${rows('$1')} WHERE ${toIsHeld(text(0), text(3))}`,
    )
    .run(
      packValues(
        retries.map(({ change: { reference, delayMs, isAttempt, refunded = 0, question = null }, row }) => [
          reference,
          delayMs,
          isAttempt ? 1 : 0,
          row.lease ?? '',
          refunded,
          question,
        ]),
      ),
      now,
    )
  requireAll(changed, retries)
}

/** The end of a verification, and its row before it. */
type Ending = { readonly finish: Finish; readonly row: QueueRow }

/** The questions are erased. */
async function finishInTx(
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
  if (!stored) return freeKey(tx, row, Number(row.paid_calls) - (finish.refunded ?? 0), now)
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
  { lineage, operation, idempotency }: QueueRow,
  paidCalls: number,
  now: number,
): Promise<void> {
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
