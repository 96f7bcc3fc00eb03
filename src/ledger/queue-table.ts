import { MODES } from '../contract/scope.ts'
import { DAY_MS, MINUTE_MS } from '../contract/time.ts'
import type { Database, Row } from '../database/database.ts'
import { MAX_CLOCK_SKEW_MS, toSharedNow } from '../database/database-clock.ts'
import { defineTable, type Reader, type TableOf } from '../database/define-table.ts'
import { deleteSome, ROWS_PER_STEP, toSome } from '../database/delete-some.ts'
import { enqueueInTx } from './queue-changes.ts'
import type { QueueCount } from './queue-counts.ts'
import {
  CLAIMED_COLUMNS,
  type Lane,
  type Lease,
  type NewQueued,
  packValues,
  type QueueClass,
  type Queued,
  type QueueGroups,
  type QueueHead,
  type QueueLimits,
  toClaimed,
  toClass,
  toQueued,
  toQueuedColumns,
  toUnpack,
} from './queue-rows.ts'

type Claim = { readonly lease: string; readonly leaseMs: number }

type DueClaim = Claim &
  QueueClass & {
    readonly keys: readonly string[]
    readonly each: number
    /** Only those that no source was asked about. */
    readonly isFirst?: boolean
  }

type Waiting = Pick<Queued, 'reference' | 'keyId' | 'mode' | 'operation' | 'subject'>

/** The longest time for which an attempt holds a question. */
export const MAX_LEASE_MS = MINUTE_MS

/** So that counting takes no longer with a long queue. */
const MAX_COUNTED = 1000

/** How long a reference is known after its answer was deleted: 410 until then, 404 afterwards. */
export const TOMBSTONE_MS = 7 * DAY_MS

/**
 * Verifications that are answered later. `now` is the clock of the process, which only SQLite uses. The changes that need an
 * audit row are made with it, in one commit: see queue-changes.ts.
 */
export const defineQueueTable = (groups: QueueGroups) =>
  defineTable({ reads: createReads, writes: (database) => createWrites(database, groups) })
export type QueueTable = TableOf<ReturnType<typeof defineQueueTable>>

function createReads(database: Reader) {
  const now = (parameter: string) => toSharedNow(database, parameter)
  const { rows, text } = toUnpack(database)
  // All live verifications wait equally long, so the first to expire is about the oldest. By the index on the expiry.
  const oldest = database.prepare(
    `SELECT ${now('$1')} - accepted_at AS age_ms FROM queued_verifications
     WHERE due_at IS NOT NULL AND expires_at >= 0 AND mode = 'live' ORDER BY expires_at LIMIT 1`,
  )
  const find = database.prepare(
    `SELECT ${toQueuedColumns(now('$3'))} FROM queued_verifications WHERE reference = $1 AND lineage = $2`,
  )
  // What is running has the end of its lease as its due time.
  const countBefore = database.prepare(
    `SELECT COUNT(*) AS found FROM (SELECT 1 FROM queued_verifications AS mine JOIN queued_verifications AS before
       ON before.lane = mine.lane AND before.lineage = mine.lineage AND before.mode = mine.mode
       AND before.operation = mine.operation AND before.due_at < mine.due_at
     WHERE mine.reference = $1 LIMIT ${MAX_COUNTED}) AS counted`,
  )
  const listEnded = database.prepare(
    `SELECT ${text(0)} AS reference FROM ${rows('$1')} LEFT JOIN queued_verifications AS queued
     ON queued.reference = ${text(0)} WHERE queued.due_at IS NULL`,
  )
  return {
    /** For each lane, some keys in turn with what is due first in each class. */
    listHeads: createListHeads(database),
    /** How long the verification has been due that is due first; negative before that, undefined when none waits. */
    findLate: createFindLate(database),
    /** Of another key it is undefined, as an unknown one. */
    find: async (reference: string, lineage: string, at: number) => {
      const row = await find.get(reference, lineage, at)
      return row && toQueued(row)
    },
    /** Verifications of the same key and class that are taken before this one, up to a bound. */
    countBefore: async (reference: string) => Number((await countBefore.get(reference))?.found),
    /** Those of the references that are not pending: answered, expired, or unknown. */
    listEnded: async (references: readonly string[]) => {
      const found = await listEnded.all(packValues(references.map((each) => [each])))
      return found.map(({ reference }) => String(reference))
    },
    countPending: () => countPending(database),
    /** How long ago the verification of a live key was accepted that expires first; undefined when none waits. */
    findOldest: async (at: number) => {
      const row = await oldest.get(at)
      return row && Number(row.age_ms)
    },
    /** Verifications of a batch that can be cancelled now. */
    listWaiting: async (batch: string, most: number, at: number): Promise<Waiting[]> => {
      const list = database.prepare(
        `SELECT ${toQueuedColumns(now('$3'))} FROM queued_verifications
         WHERE batch = $1 AND due_at IS NOT NULL AND (lease IS NULL OR due_at <= ${now('$3')}) LIMIT $2`,
      )
      return (await list.all(batch, most, at)).map(toQueued)
    },
  }
}

function createWrites(database: Database, groups: QueueGroups) {
  const now = (parameter: string) => toSharedNow(database, parameter)
  const claimDue = database.prepare(toClaim(database, toChooseDue(database)))
  const claimFirst = database.prepare(toClaim(database, toChooseDue(database, 'AND attempts = 0')))
  const claimExpired = database.prepare(
    toClaim(
      database,
      `SELECT reference FROM queued_verifications WHERE due_at IS NOT NULL AND expires_at <= ${now('$1')}
         AND (lease IS NULL OR due_at <= ${now('$1')}) ORDER BY expires_at LIMIT $4 ${toSkipLocked(database)}`,
    ),
  )
  const { rows, text } = toUnpack(database)
  const isAhead = `lane IN ('single', 'batch') AND mode IN ('live', 'test') AND operation IN ('verify_nin', 'verify_bvn')
    AND due_at > ${now('$1')} + CAST($2 AS BIGINT)`
  // After a failover, the clock of PostgreSQL may be behind that of the server before: a process may be asking.
  const correctDue = database.prepare(
    `UPDATE queued_verifications SET due_at = ${now('$1')} + CASE WHEN lease IS NULL THEN 0 ELSE ${MAX_LEASE_MS} END,
       expires_at = CASE WHEN expires_at > ${now('$1')} + CAST($3 AS BIGINT) THEN ${now('$1')} + CAST($3 AS BIGINT) ELSE expires_at END
     WHERE ${toSome(database, 'queued_verifications', isAhead)}`,
  )
  const release = `UPDATE queued_verifications AS queued SET lease = NULL, due_at = ${now('$2')} FROM ${rows('$1')}
    WHERE queued.reference = ${text(0)} AND queued.lease = ${text(1)}`
  return {
    /** Adds all rows, or none. For one with its audit row, see queue-changes.ts. */
    enqueue: (queued: readonly NewQueued[], limits: QueueLimits, at: number) =>
      database.transaction((tx) => enqueueInTx(tx, groups, queued, limits, at)),
    /** Takes verifications that are due, of each key the longest due first. No other process gets them before the lease ends. */
    claim: async (wanted: DueClaim, at: number) => {
      const { lease, leaseMs, lane, mode, operation, keys, each, isFirst } = wanted
      const packed = packValues(keys.map((key) => [key]))
      const claim = isFirst ? claimFirst : claimDue
      return (await claim.all(at, lease, leaseMs, lane, mode, operation, packed, each)).map(toClaimed)
    },
    /** Takes verifications that expire unanswered. */
    claimExpired: async ({ lease, most, leaseMs }: Claim & { readonly most: number }, at: number) =>
      (await claimExpired.all(at, lease, leaseMs, most)).map(toClaimed),
    /** Gives back what was claimed and not begun. */
    release: async (leases: readonly Lease[], at: number) => {
      const packed = packValues(leases.map(({ reference, lease }) => [reference, lease]))
      await database.prepare(release).run(packed, at)
    },
    /**
     * Makes some of what a process wrote while its clock was ahead due: no retry, lease or pace of a batch ends that late. Call it
     * again while it returns at least ROWS_PER_STEP.
     */
    correctDue: (
      { longestRetryMs, limitMs }: { readonly longestRetryMs: number; readonly limitMs: number },
      at: number,
    ) => correctDue.run(at, longestRetryMs + MAX_CLOCK_SKEW_MS, limitMs),
    /**
     * Deletes some of the answers that are no longer kept, and later what is left of their rows; see delete-some.ts. Those of a
     * batch are kept until the given time after its end.
     */
    deleteExpired: (keepMs: number, at: number) => deleteExpired(database, groups, keepMs, at),
  }
}

/** The end of the lease is the next due time, so that a verification whose process died is due again. */
function toClaim(database: Database, chosen: string): string {
  const now = toSharedNow(database, '$1')
  const isChosen = database.dialect === 'postgres' ? `= ANY(ARRAY(${chosen}))` : `IN (${chosen})`
  return `UPDATE queued_verifications SET lease = $2, due_at = ${now} + CAST($3 AS BIGINT)
    WHERE reference ${isChosen} RETURNING ${CLAIMED_COLUMNS}, expires_at - ${now} AS life_ms`
}

const toSkipLocked = ({ dialect }: Database) => (dialect === 'postgres' ? 'FOR UPDATE SKIP LOCKED' : '')

/** Of each key in $7 up to $8. */
function toChooseDue(database: Database, andIs = ''): string {
  const { rows, text } = toUnpack(database)
  const isDue = `lane = $4 AND lineage = ${text(0)} AND mode = $5 AND operation = $6 AND due_at <= ${toSharedNow(database, '$1')} ${andIs}`
  return database.dialect === 'postgres'
    ? `SELECT chosen.reference FROM ${rows('$7')} CROSS JOIN LATERAL (SELECT reference FROM queued_verifications
         WHERE ${isDue} ORDER BY due_at LIMIT $8 ${toSkipLocked(database)}) AS chosen`
    : `SELECT chosen.reference FROM ${rows('$7')} JOIN queued_verifications AS chosen ON chosen.rowid IN (
         SELECT rowid FROM queued_verifications WHERE ${isDue} ORDER BY due_at LIMIT $8)`
}

async function countPending(database: Reader): Promise<QueueCount[]> {
  const rows = await database
    .prepare('SELECT lineage, lane, pending FROM queue_counts WHERE pending > 0 ORDER BY lineage, lane')
    .all()
  return rows.map(({ lineage, lane, pending }) => ({
    lineage: String(lineage),
    lane: lane as Lane,
    pending: Number(pending),
  }))
}

async function deleteExpired(
  database: Database,
  groups: QueueGroups,
  keepMs: number,
  at: number,
): Promise<number> {
  const now = toSharedNow(database, '$1')
  const over = `due_at IS NULL AND expires_at <= ${now}`
  // A row of a batch that is still kept gets the end of its batch as its own.
  const isKept = 'over.kept_until > queued.expires_at'
  const emptied = await database
    .prepare(
      `UPDATE queued_verifications AS queued SET
         state = CASE WHEN ${isKept} THEN queued.state ELSE 'gone' END,
         answer = CASE WHEN ${isKept} THEN queued.answer END,
         expires_at = CASE WHEN ${isKept} THEN over.kept_until ELSE ${now} + ${TOMBSTONE_MS} END
       FROM (SELECT reference AS ended, ${groups.toKeptUntil('batch', now, '$2')} AS kept_until FROM queued_verifications
         WHERE ${over} AND state <> 'gone' LIMIT ${ROWS_PER_STEP}) AS over
       WHERE queued.reference = over.ended`,
    )
    .run(at, keepMs)
  const deleted = await deleteSome(database, 'queued_verifications', `${over} AND state = 'gone'`, at)
  return Math.max(emptied, deleted)
}

/** `after`: the key that had the last turn. */
type Turn = { readonly lane: Lane; readonly after: string }

export type Heads = {
  /** The keys after the one that had the last turn, and then those up to it. */
  readonly heads: readonly QueueHead[]
  /** There are more keys than these. */
  readonly isPart: boolean
  /**
   * If so, some more that are due: of each class, those of the verifications that are due longest, and since the shortest time. In
   * the order of JavaScript, in which they take turns: PostgreSQL sorts by its locale.
   */
  readonly elsewhere: readonly QueueHead[]
}

/** Up to `most` keys on each side of the one that had the last turn. `now` is the clock of the process, which only SQLite uses. */
type ListHeads = (lanes: readonly Turn[], most: number, now: number) => Promise<Heads[]>

const CLASSES = packValues(
  MODES.flatMap((mode) => ['verify_nin', 'verify_bvn'].map((operation) => [mode, operation])),
)

function createListHeads(database: Reader): ListHeads {
  const list = database.prepare(toListHeads(database))
  const listDue = database.prepare(toListDue(database))
  return async (lanes, most, at) => {
    const ranges = lanes.flatMap(({ lane, after }) =>
      after === ''
        ? [[lane, '', null]]
        : [
            [lane, after, null],
            [lane, '', after],
          ],
    )
    const found = await list.all(packValues(ranges), at, most, CLASSES)
    const windows = lanes.map(({ lane }) => toWindow(found, lane, most))
    const inPart = lanes.filter((_, index) => windows[index]?.isPart)
    const due =
      inPart.length === 0
        ? []
        : await listDue.all(packValues(inPart.map(({ lane }) => [lane])), at, most, CLASSES)
    return windows.map((window, index) => ({
      ...window,
      elsewhere: toElsewhere(window, due, lanes[index]?.lane),
    }))
  }
}

function toElsewhere(
  { heads }: Pick<Heads, 'heads'>,
  due: readonly Row[],
  lane: Lane | undefined,
): QueueHead[] {
  const inWindow = new Set(heads.map(({ lineage }) => lineage))
  return due
    .filter((row) => row.lane === lane && !inWindow.has(String(row.lineage)))
    .map(toHead)
    .sort((one, other) => (one.lineage < other.lineage ? -1 : Number(one.lineage > other.lineage)))
}

/** By the index on the due times, however many verifications wait. */
function createFindLate(database: Reader): (now: number) => Promise<number | undefined> {
  const { rows, text } = toUnpack(database)
  const first = `(SELECT MIN(due_at) FROM queued_verifications WHERE lane = lanes.lane AND mode = ${text(0)}
    AND operation = ${text(1)} AND due_at IS NOT NULL)`
  const find = database.prepare(
    `SELECT ${toSharedNow(database, '$1')} - MIN(due_at) AS late_ms FROM (
       SELECT ${first} AS due_at FROM ${rows('$2')} CROSS JOIN (SELECT 'single' AS lane UNION ALL SELECT 'batch') AS lanes) AS firsts`,
  )
  return async (at) => {
    const late = (await find.get(at, CLASSES))?.late_ms
    return late === null || late === undefined ? undefined : Number(late)
  }
}

/**
 * From one key with pending work to the next by the index: a step takes the same time however long the queue is. Each range in $1
 * has a lane, the key before its first and its last key; up to $3 steps are made in it. $4 are the classes.
 */
function toListHeads(database: Reader): string {
  const { rows, text } = toUnpack(database)
  const toNext = (lane: string, after: string) =>
    `(SELECT MIN(lineage) FROM queued_verifications WHERE lane = ${lane} AND lineage > ${after} AND due_at IS NOT NULL)`
  const position = database.dialect === 'postgres' ? 'packed.position' : 'packed.key'
  return `WITH RECURSIVE walk (position, lane, last, lineage, steps) AS (
      SELECT ${position}, ${text(0)}, ${text(2)}, ${toNext(text(0), text(1))}, 1 FROM ${rows('$1')}
    UNION ALL
      SELECT position, lane, last, ${toNext('walk.lane', 'walk.lineage')}, steps + 1 FROM walk
      WHERE steps < CAST($3 AS BIGINT) AND lineage IS NOT NULL AND (last IS NULL OR lineage < last)
    ), heads AS MATERIALIZED (
      SELECT walk.position, walk.steps, walk.lane, lineage, CASE WHEN last IS NULL THEN 1 ELSE 0 END AS is_after, ${text(0)} AS mode, ${text(1)} AS operation,
        (SELECT MIN(due_at) FROM queued_verifications AS queued WHERE queued.lane = walk.lane AND queued.lineage = walk.lineage
           AND mode = ${text(0)} AND operation = ${text(1)} AND due_at IS NOT NULL) AS due_at
      FROM walk CROSS JOIN ${rows('$4')} WHERE lineage IS NOT NULL AND (last IS NULL OR lineage <= last)
    ) SELECT lane, lineage, is_after, mode, operation, due_at - ${toSharedNow(database, '$2')} AS due_ms FROM heads
      WHERE due_at IS NOT NULL ORDER BY position, steps, mode, operation`
}

/**
 * The keys of verifications that are due, of each lane in $1 and class in $4: of the $3 that are due longest, and of the $3 that
 * became due last. Behind a long queue of another key, a new one is among the last.
 */
function toListDue(database: Reader): string {
  const { rows } = toUnpack(database)
  const now = toSharedNow(database, '$2')
  const isDue = `queued.lane = wanted.lane AND queued.mode = wanted.mode AND queued.operation = wanted.operation AND queued.due_at <= ${now}`
  const toSome = (columns: string, order: string) =>
    `SELECT ${columns} FROM queued_verifications AS queued WHERE ${isDue} ORDER BY queued.due_at ${order} LIMIT $3`
  const chosen =
    database.dialect === 'postgres'
      ? `CROSS JOIN LATERAL ((${toSome('lineage, due_at', 'ASC')}) UNION ALL (${toSome('lineage, due_at', 'DESC')})) AS chosen`
      : `JOIN queued_verifications AS chosen ON chosen.rowid IN (${toSome('rowid', 'ASC')})
           OR chosen.rowid IN (${toSome('rowid', 'DESC')})`
  return `WITH wanted AS (
      SELECT lanes.value->>0 AS lane, classes.value->>0 AS mode, classes.value->>1 AS operation
      FROM ${rows('$1').replace('packed', 'lanes')} CROSS JOIN ${rows('$4').replace('packed', 'classes')}
    ) SELECT wanted.lane, chosen.lineage, wanted.mode, wanted.operation, MIN(chosen.due_at) - ${now} AS due_ms
      FROM wanted ${chosen} GROUP BY wanted.lane, chosen.lineage, wanted.mode, wanted.operation`
}

/** The keys up to the given one follow only when all keys after it are there. */
function toWindow(found: readonly Row[], lane: Lane, most: number): Omit<Heads, 'elsewhere'> {
  const ofLane = found.filter((row) => row.lane === lane)
  const countKeys = (rows: readonly Row[]) => new Set(rows.map(({ lineage }) => lineage)).size
  const after = ofLane.filter(({ is_after }) => Number(is_after) === 1)
  if (countKeys(after) >= most) return { heads: after.map(toHead), isPart: true }
  return { heads: ofLane.map(toHead), isPart: countKeys(ofLane) - countKeys(after) >= most }
}

const toHead = (row: Row): QueueHead => ({
  ...toClass(row),
  lineage: String(row.lineage),
  dueMs: Number(row.due_ms),
})
