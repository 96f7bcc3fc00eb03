import { MODES } from '../contract/scope.ts'
import type { Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import type { Reader } from '../database/define-table.ts'
import { type Lane, packValues, type QueueHead, toClass, toUnpack } from './queue-rows.ts'

/** `after`: the key that had the last turn. */
type Turn = { readonly lane: Lane; readonly after: string }

export type Heads = {
  /** The keys after the one that had the last turn, and then those up to it. */
  readonly heads: readonly QueueHead[]
  /** There are more keys than these. */
  readonly isPart: boolean
  /** If so, some more that are due: of each class, those of the verifications that are due longest, and since the shortest time. */
  readonly elsewhere: readonly QueueHead[]
}

/** Up to `most` keys on each side of the one that had the last turn. `now` is the clock of the process, which only SQLite uses. */
type ListHeads = (lanes: readonly Turn[], most: number, now: number) => Promise<Heads[]>

const CLASSES = packValues(
  MODES.flatMap((mode) => ['verify_nin', 'verify_bvn'].map((operation) => [mode, operation])),
)

export function createListHeads(database: Reader): ListHeads {
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
  return due.filter((row) => row.lane === lane && !inWindow.has(String(row.lineage))).map(toHead)
}

/** By the index on the due times, however many verifications wait. */
export function createFindLate(database: Reader): (now: number) => Promise<number | undefined> {
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
      FROM wanted ${chosen} GROUP BY wanted.lane, chosen.lineage, wanted.mode, wanted.operation
      ORDER BY wanted.lane, chosen.lineage`
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
