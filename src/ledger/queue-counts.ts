import type { Database } from '../database/database.ts'
import type { Reader } from '../database/define-table.ts'
import { type Lane, packValues, type QueueEnd, type QueueGroups, toUnpack } from './queue-rows.ts'

/** The pending verifications of a key in one lane. */
export type QueueCount = { readonly lineage: string; readonly lane: Lane; readonly pending: number }

type Counted = Pick<QueueCount, 'lineage' | 'lane'>

export const toCountName = ({ lineage, lane }: Counted) => `${lineage} ${lane}`

/** By `toCountName`. In PostgreSQL the counts stay locked until the end of the transaction, so they are taken in one order. */
export async function lockCounts(
  tx: Database,
  counted: readonly Counted[],
): Promise<ReadonlyMap<string, number>> {
  if (counted.length === 0) return new Map()
  const { rows, text } = toUnpack(tx)
  const names = new Map(counted.map((each) => [toCountName(each), each]))
  const packed = packValues([...names.keys()].sort().map((name) => toPair(names.get(name) as Counted)))
  await tx
    .prepare(
      `INSERT INTO queue_counts (lineage, lane, pending) SELECT ${text(0)}, ${text(1)}, 0 FROM ${rows('$1')}
       WHERE true ON CONFLICT (lineage, lane) DO NOTHING`,
    )
    .run(packed)
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE OF counts' : ''
  const found = await tx
    .prepare(
      `SELECT counts.lineage, counts.lane, counts.pending FROM ${rows('$1')} JOIN queue_counts AS counts
         ON counts.lineage = ${text(0)} AND counts.lane = ${text(1)} ORDER BY 1, 2 ${lock}`,
    )
    .all(packed)
  return new Map(
    found.map(({ lineage, lane, pending }) => [
      toCountName({ lineage: String(lineage), lane: lane as Lane }),
      Number(pending),
    ]),
  )
}

const toPair = ({ lineage, lane }: Counted) => [lineage, lane]

/** All pending verifications of a lane. There is one row for each key, so this is quick however long the queue is. */
export async function countLane(tx: Database, lane: Lane): Promise<number> {
  const row = await tx
    .prepare('SELECT COALESCE(SUM(pending), 0) AS pending FROM queue_counts WHERE lane = $1')
    .get(lane)
  return Number(row?.pending)
}

/** Each row counts once for its key. */
export async function addToCounts(tx: Database, counted: readonly Counted[], change: 1 | -1): Promise<void> {
  const changes = new Map<string, readonly [string, string, number]>()
  for (const each of counted) {
    const before = changes.get(toCountName(each))?.[2] ?? 0
    changes.set(toCountName(each), [each.lineage, each.lane, before + change])
  }
  if (changes.size === 0) return
  const { rows, text, number } = toUnpack(tx)
  await tx
    .prepare(
      `UPDATE queue_counts AS counts SET pending = counts.pending + ${number(2)} FROM ${rows('$1')}
       WHERE counts.lineage = ${text(0)} AND counts.lane = ${text(1)}`,
    )
    .run(packValues([...changes.values()]))
}

/** Every end of a verification passes here, in the transaction in which it ends. The counts are locked before. */
export async function recordEnds(
  tx: Database,
  groups: QueueGroups,
  ends: readonly QueueEnd[],
): Promise<void> {
  await addToCounts(tx, ends, -1)
  await groups.end(tx, ends)
}

/** A verification that an erasure has ended. */
export type EndedQueued = {
  readonly reference: string
  readonly keyId: string
  readonly mode: string
  readonly operation: string
}

/** How many questions and answers, and the verifications that were still waiting. */
export type ErasedQueued = { readonly queued: number; readonly ended: readonly EndedQueued[] }

/** By the indexes on the expiry and the subject. */
const PENDING = 'due_at IS NOT NULL AND expires_at >= 0 AND subject = $1'
const ANSWERED = 'due_at IS NULL AND expires_at >= 0 AND subject = $1 AND answer IS NOT NULL'

export async function countQueued(database: Reader, subject: Uint8Array): Promise<number> {
  const count = async (where: string) => {
    const row = await database
      .prepare(`SELECT COUNT(*) AS found FROM queued_verifications WHERE ${where}`)
      .get(subject)
    return Number(row?.found)
  }
  return (await count(PENDING)) + (await count(ANSWERED))
}

/** Erases questions and answers about a person. An attempt that runs loses its lease, so its answer is not stored. */
export async function eraseQueued(
  tx: Database,
  groups: QueueGroups,
  subject: Uint8Array,
): Promise<ErasedQueued> {
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE' : ''
  const pending = await tx
    .prepare(
      `SELECT reference, key_id, lineage, mode, operation, lane, batch FROM queued_verifications
       WHERE ${PENDING} ORDER BY reference ${lock}`,
    )
    .all(subject)
  const ends = pending.map((row) => ({ ...row, outcome: 'erased' }) as unknown as QueueEnd)
  await lockCounts(tx, ends)
  const { rows, text } = toUnpack(tx)
  await tx
    .prepare(
      `UPDATE queued_verifications AS queued SET state = 'gone', outcome = 'erased', question = NULL, due_at = NULL, lease = NULL
       FROM ${rows('$1')} WHERE queued.reference = ${text(0)}`,
    )
    .run(packValues(pending.map(({ reference }) => [String(reference)])))
  await recordEnds(tx, groups, ends)
  const answered = await eraseAnswered(tx, subject)
  const ended = pending.map((row) => ({
    reference: String(row.reference),
    keyId: String(row.key_id),
    mode: String(row.mode),
    operation: String(row.operation),
  }))
  return { queued: pending.length + answered, ended }
}

/** Returns how many answers there were. */
export const eraseAnswered = (tx: Database, subject: Uint8Array): Promise<number> =>
  tx.prepare(`UPDATE queued_verifications SET state = 'gone', answer = NULL WHERE ${ANSWERED}`).run(subject)
