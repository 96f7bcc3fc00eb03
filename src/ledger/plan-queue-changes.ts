import type { Database } from '../database/database.ts'
import type { Appended, Refused } from './commit.ts'
import { complete, holdsClaim } from './idempotency-table.ts'
import type {
  Cancel,
  Enqueue,
  Finish,
  QueueBatch,
  QueueChange,
  QueueGroups,
  QueueLimits,
  QueueRefusal,
  Retry,
} from './queue-change.ts'
import { addToCounts, countLane, lockCounts, toCountName } from './queue-counts.ts'
import type { Lane, NewQueued } from './queue-rows.ts'
import {
  type Ending,
  finishInTx,
  type Held,
  insertInTx,
  lockRows,
  type QueueRow,
  retryInTx,
} from './queue-writes.ts'

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
