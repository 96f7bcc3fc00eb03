import type { Refused } from './commit-check.ts'
import { complete, holdsClaim } from './completion.ts'
import type { Database } from './database.ts'
import type {
  Cancel,
  Enqueue,
  Finish,
  QueueBatch,
  QueueChange,
  QueueLimits,
  QueueRefusal,
  Retry,
} from './queue-change.ts'
import { addToCounts, countLane, lockCounts, toCountName } from './queue-counts.ts'
import type { Lane, NewQueued } from './queue-rows.ts'
import { finishInside, type HeldRow, insertInside, lockHeld, retryInside } from './queue-writes.ts'

/** Adds all rows in a transaction, or none. */
export async function enqueueInside(
  inside: Database,
  rows: readonly NewQueued[],
  limits: QueueLimits,
  now: number,
): Promise<'queued' | 'full'> {
  const changes = rows.map((row, index) => [index, { kind: 'enqueue', row, limits }] as const)
  const { refused, write } = await planQueueChanges(inside, { now, changes })
  if (refused.length > 0) return 'full'
  await write()
  return 'queued'
}

type Plan = { readonly refused: Refused<QueueRefusal>; readonly write: () => Promise<void> }

/** Checks all changes. They are made by `write`, in the same transaction, if none is refused. */
export async function planQueueChanges(inside: Database, { now, changes }: QueueBatch): Promise<Plan> {
  const all = changes.map(([, change]) => change)
  const held = await lockHeld(inside, all.filter(isHeld), now)
  const free = new Map(held)
  const rows = all.flatMap((change) => (change.kind === 'enqueue' ? [change.row] : []))
  const counts = await lockCounts(inside, [...rows, ...held.values()])
  const admit = await createAdmit(inside, rows, counts)
  const refused: [number, QueueRefusal][] = []
  for (const [position, change] of changes) {
    const refusal = isHeld(change) ? takeHeld(free, change) : await admit(change)
    if (refusal) refused.push([position, refusal])
  }
  return { refused, write: () => writeAll(inside, all, held, now) }
}

const isHeld = (change: QueueChange): change is Finish | Retry | Cancel => change.kind !== 'enqueue'

/** Of two changes of one verification in the same commit, the first wins. */
const takeHeld = (free: Map<string, HeldRow>, { reference }: Finish | Retry | Cancel) =>
  free.delete(reference) ? undefined : 'lease_lost'

/** Counts what the changes before in the same commit add. */
async function createAdmit(
  inside: Database,
  rows: readonly NewQueued[],
  counted: ReadonlyMap<string, number>,
) {
  const counts = new Map(counted)
  const lanes = new Map<Lane, number>()
  for (const { lane } of rows) if (!lanes.has(lane)) lanes.set(lane, await countLane(inside, lane))
  return async ({ row, limits, completion }: Enqueue): Promise<QueueRefusal | undefined> => {
    const name = toCountName(row)
    const [ofKey, ofLane] = [counts.get(name) ?? 0, lanes.get(row.lane) ?? 0]
    if (ofKey >= limits.perKey || ofLane >= limits.all) return 'queue_full'
    if (completion && !(await holdsClaim(inside, completion.claim))) return 'lease_lost'
    counts.set(name, ofKey + 1)
    lanes.set(row.lane, ofLane + 1)
    return undefined
  }
}

async function writeAll(
  inside: Database,
  changes: readonly QueueChange[],
  held: ReadonlyMap<string, HeldRow>,
  now: number,
): Promise<void> {
  const enqueued = changes.filter((change) => change.kind === 'enqueue')
  const rows = enqueued.map(({ row }) => row)
  const retried = changes.filter((change) => change.kind === 'retry')
  const finished = changes.flatMap((change) =>
    change.kind === 'finish' ? [change] : change.kind === 'cancel' ? [toFinish(change)] : [],
  )
  if (rows.length > 0) await insertInside(inside, rows, now)
  if (retried.length > 0) await retryInside(inside, retried, now)
  if (finished.length > 0) await finishInside(inside, finished, held, now)
  await addToCounts(inside, rows, 1)
  const completions = enqueued.flatMap(({ completion }) => completion ?? [])
  await complete(inside, completions)
}

const toFinish = ({ reference, keepMs }: Cancel): Finish => ({
  ...{ kind: 'finish', state: 'cancelled', outcome: 'cancelled', lease: '' },
  ...{ reference, keepMs, answer: undefined, stored: undefined },
})
