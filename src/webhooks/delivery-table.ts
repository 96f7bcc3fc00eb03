import { setImmediate as nextTurn } from 'node:timers/promises'
import { DAY_MS } from '../contract/time.ts'
import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import {
  bytes,
  defineColumns,
  defineTable,
  flag,
  named,
  number,
  optional,
  type Reader,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { deleteSome, ROWS_PER_STEP } from '../database/delete-some.ts'
import type { DisabledReason } from './webhook-table.ts'

const CLAIMED = defineColumns({
  endpointId: text(),
  eventId: text(),
  type: text(),
  body: text(),
  /** Failed attempts since the event was sent or resent. */
  tries: number(),
  /** The number of this attempt. */
  attempt: named('attempts', number()),
})
/** A delivery that this process is to attempt now. */
export type ClaimedDelivery = RowOf<typeof CLAIMED>

const DUE = defineColumns({
  id: text(),
  url: text(),
  secret: bytes(),
  previousSecret: optional(bytes()),
  previousUntil: optional(number()),
  isFailing: flag(),
})
/** An endpoint that has something to deliver now. */
export type DueEndpoint = RowOf<typeof DUE>

const DELIVERY = defineColumns({
  eventId: text(),
  type: text(),
  reference: text(),
  state: text<'pending' | 'delivered' | 'failed'>(),
  /** When the next attempt may be made. */
  dueAt: optional(number()),
  finishedAt: optional(number()),
  /** The JSON that is sent. It has no personal data. */
  body: text(),
})

const ATTEMPT = defineColumns({
  attempt: number(),
  at: number(),
  /** Undefined when there was no HTTP response. */
  status: optional(number()),
  durationMs: number(),
  problem: optional(text()),
})

const ATTEMPTS_OF_HOUR = defineColumns({ hour: number(), delivered: number(), failed: number() })

export type DeliveryRow = RowOf<typeof DELIVERY> & { readonly attempts: readonly RowOf<typeof ATTEMPT>[] }

/** The result of an attempt. */
export type Settlement = {
  readonly endpointId: string
  readonly eventId: string
  readonly attempt: number
  readonly status: number | undefined
  readonly durationMs: number
  /** Undefined: delivered. */
  readonly problem: string | undefined
  /** After a failure: the wait before the next attempt. Undefined: there is none. */
  readonly retryInMs?: number | undefined
  /** The receiver asked for a pause of all its deliveries. */
  readonly pauseMs?: number | undefined
  /** The receiver wants nothing any more. */
  readonly isGone?: boolean | undefined
  /** An endpoint that has failed for this long is disabled. */
  readonly disableAfterMs: number
}

/** Set when this attempt disabled the endpoint. */
export type Settled = { readonly disabled: DisabledReason | undefined }

type Claim = { readonly endpointId: string; readonly most: number; readonly leaseMs: number }
type Page = { readonly endpointId: string; readonly most: number; readonly before?: string | undefined }
type Resend = { readonly endpointId: string; readonly since: number; readonly most: number }
type Kept = { readonly ageMs: number; readonly most: number }

/** What a clean-up deletes. */
export type Expired = {
  /** What is older is too old. */
  readonly before: number
  /** Deliveries that ended before this are too old or too many. */
  readonly finishedBefore: number
  /** Endpoints that no longer exist and have deliveries. */
  readonly removed: readonly string[]
}

/** One event for one endpoint each; they stay as a log for a time. Times are of the clock that all nodes share. */
export const deliveryTable = defineTable({
  reads: (database) => {
    const due = database.prepare(toListDue(database))
    const first = database.prepare(toList(''))
    const next = database.prepare(toList('AND event_id < $3'))
    const attempts = database.prepare(LIST_ATTEMPTS)
    const count = database.prepare(COUNT_PENDING)
    const listAttempts = async (endpointId: string, eventId: string) =>
      (await attempts.all(endpointId, eventId)).map(ATTEMPT.decode)
    return {
      /** The enabled endpoints that have something to deliver now. */
      listDue: async (now: number) => (await due.all(now)).map(DUE.decode),
      /** The newest first. */
      list: async ({ endpointId, most, before }: Page): Promise<DeliveryRow[]> =>
        Promise.all(
          (
            await (before === undefined ? first.all(endpointId, most) : next.all(endpointId, most, before))
          ).map(async (row) => {
            const delivery = DELIVERY.decode(row)
            return { ...delivery, attempts: await listAttempts(endpointId, delivery.eventId) }
          }),
        ),
      /** Looks for what is too old or too much, or of a deleted endpoint. Once for a clean-up: it reads past all that is kept. */
      findExpired: (kept: Kept, now: number) => findExpired(database, kept, now),
      /** Counts up to `most`. */
      countPending: async (endpointId: string, most: number) =>
        Number((await count.get(endpointId, most))?.count),
      /** Attempts since a time, by the number of their hour since 1970. */
      countAttempts: async (endpointId: string, since: number) =>
        (await database.prepare(COUNT_ATTEMPTS).all(endpointId, since)).map(ATTEMPTS_OF_HOUR.decode),
    }
  },
  writes: (database) => {
    const claim = database.prepare(toClaim(database))
    return {
      /** The oldest first. A delivery waits until earlier ones of its reference are no longer pending. */
      claim: async ({ endpointId, most, leaseMs }: Claim, now: number) =>
        (await claim.all(endpointId, most, leaseMs, now)).map(CLAIMED.decode),
      /** Gives a claim back: the attempt was not finished. */
      release: async ({ endpointId, eventId, attempt }: ClaimedDelivery, now: number) => {
        await database.prepare(toRelease(database)).run(endpointId, eventId, attempt, now)
      },
      /** Writes the result of an attempt. */
      settle: (settlement: Settlement, now: number) =>
        database.transaction((tx) => settle(tx, settlement, now)),
      /** Sends it again, whatever became of it. False when there is no such delivery. */
      resend: async (endpointId: string, eventId: string, now: number) =>
        (await database.prepare(toResend(database)).run(endpointId, eventId, now)) > 0,
      /** Sends the oldest that were given up since a time again. Resolves to their number. */
      resendFailed: ({ endpointId, since, most }: Resend, now: number) =>
        database.prepare(toResendFailed(database)).run(endpointId, most, now, since),
      /** Deletes some of what has expired; see delete-some.ts. */
      deleteExpired: (expired: Expired) => deleteExpired(database, expired),
    }
  },
})
export type DeliveryTable = TableOf<typeof deliveryTable>

const toListDue = (database: Reader) => {
  const now = toSharedNow(database, 'CAST($1 AS BIGINT)')
  return `SELECT e.id, e.url, e.secret, e.previous_secret, e.previous_until,
      CASE WHEN e.failing_since IS NULL THEN 0 ELSE 1 END AS is_failing FROM webhook_endpoints e
    WHERE e.disabled_at IS NULL AND e.paused_until <= ${now} AND EXISTS (
      SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.state = 'pending' AND d.due_at <= ${now})
    ORDER BY e.id`
}

/** A claim moves the due time to the end of its lease. A process that dies loses nothing: another claims it then. */
const toClaim = (database: Database) => {
  const now = toSharedNow(database, 'CAST($4 AS BIGINT)')
  const due = `SELECT d.event_id FROM webhook_deliveries d
    WHERE d.endpoint_id = $1 AND d.state = 'pending' AND d.due_at <= ${now}
      AND NOT EXISTS (SELECT 1 FROM webhook_deliveries p WHERE p.endpoint_id = d.endpoint_id
        AND p.reference = d.reference AND p.position < d.position AND p.state = 'pending')
    ORDER BY d.due_at LIMIT $2`
  // As an array, so that PostgreSQL runs the query once.
  const isDue =
    database.dialect === 'postgres' ? `= ANY(ARRAY(${due} FOR UPDATE OF d SKIP LOCKED))` : `IN (${due})`
  return `UPDATE webhook_deliveries SET due_at = ${now} + CAST($3 AS BIGINT), attempts = attempts + 1
    WHERE endpoint_id = $1 AND event_id ${isDue}
    RETURNING ${CLAIMED.names}`
}

/** Pages and cursors are in the order of the index, which is that of the locale. Ids have lower-case letters and digits only. */
const toList = (
  condition: string,
) => `SELECT event_id, type, reference, state, CASE state WHEN 'pending' THEN due_at END AS due_at, finished_at, body
  FROM webhook_deliveries
  WHERE endpoint_id = $1 ${condition} ORDER BY event_id DESC LIMIT $2`

const LIST_ATTEMPTS = `SELECT ${ATTEMPT.names} FROM webhook_attempts
  WHERE endpoint_id = $1 AND event_id = $2 ORDER BY attempt`

const COUNT_PENDING = `SELECT COUNT(*) AS count FROM (
  SELECT 1 AS one FROM webhook_deliveries WHERE endpoint_id = $1 AND state = 'pending' LIMIT $2) AS waiting`

const COUNT_ATTEMPTS = `SELECT at / 3600000 AS hour,
    SUM(CASE WHEN problem IS NULL THEN 1 ELSE 0 END) AS delivered,
    SUM(CASE WHEN problem IS NULL THEN 0 ELSE 1 END) AS failed
  FROM webhook_attempts WHERE endpoint_id = $1 AND at >= $2 GROUP BY at / 3600000 ORDER BY hour`

const toPending = (database: Database) => `UPDATE webhook_deliveries
  SET state = 'pending', finished_at = NULL, tries = 0, due_at = ${toSharedNow(database, 'CAST($3 AS BIGINT)')}
  WHERE endpoint_id = $1`

const toResend = (database: Database) => `${toPending(database)} AND event_id = $2`

const toResendFailed = (database: Database) => `${toPending(database)} AND event_id IN (
  SELECT event_id FROM webhook_deliveries
  WHERE endpoint_id = $1 AND state = 'failed' AND finished_at >= CAST($4 AS BIGINT) ORDER BY event_id LIMIT $2)`

const toRelease = (database: Database) => `UPDATE webhook_deliveries
  SET due_at = ${toSharedNow(database, 'CAST($4 AS BIGINT)')}
  WHERE endpoint_id = $1 AND event_id = $2 AND attempts = $3 AND state = 'pending'`

/** Reads past what is kept in parts, because in SQLite nothing else runs in this process meanwhile. */
const MAX_SKIPPED = 10_000

const SKIP_NEWEST = `SELECT finished_at FROM webhook_deliveries WHERE finished_at < $1
  ORDER BY finished_at DESC LIMIT 1 OFFSET $2`

async function findExpired(database: Reader, { ageMs, most }: Kept, now: number): Promise<Expired> {
  const time = await database
    .prepare(`SELECT ${toSharedNow(database, 'CAST($1 AS BIGINT)')} - CAST($2 AS BIGINT) AS before`)
    .get(now, ageMs)
  const before = Number(time?.before)
  const skip = database.prepare(SKIP_NEWEST)
  let oldestKept = Number.MAX_SAFE_INTEGER
  for (let left = most; left > 0 && oldestKept > before; left -= MAX_SKIPPED) {
    const row = await skip.get(oldestKept, Math.min(left, MAX_SKIPPED) - 1)
    oldestKept = Number(row?.finished_at ?? 0)
    await nextTurn()
  }
  const removed = await database.prepare(LIST_REMOVED).all()
  return {
    before,
    finishedBefore: Math.max(before, oldestKept),
    removed: removed.map(({ id }) => String(id)),
  }
}

/** A step of the index for each endpoint, instead of one for each delivery. */
const LIST_REMOVED = `WITH RECURSIVE ids (id) AS (
    SELECT MIN(endpoint_id) FROM webhook_deliveries
    UNION ALL
    SELECT (SELECT MIN(d.endpoint_id) FROM webhook_deliveries d WHERE d.endpoint_id > ids.id) FROM ids WHERE ids.id IS NOT NULL)
  SELECT id FROM ids WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = ids.id)`

/** Pending deliveries of an enabled endpoint are never deleted: their attempts end. */
async function deleteExpired(
  database: Database,
  { before, finishedBefore, removed }: Expired,
): Promise<number> {
  const finished = await deleteSome(database, 'webhook_deliveries', 'finished_at < $1', finishedBefore)
  const attempts = await deleteSome(database, 'webhook_attempts', 'at < $1', finishedBefore)
  const abandoned = await deleteSome(
    database,
    'webhook_deliveries',
    `endpoint_id IN (SELECT id FROM webhook_endpoints WHERE disabled_at < $1) AND state = 'pending' AND due_at < $1`,
    before,
  )
  let orphans = 0
  for (const id of removed) {
    orphans = await deleteSome(
      database,
      'webhook_deliveries',
      'endpoint_id = $1 AND NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = $1)',
      id,
    )
    if (orphans >= ROWS_PER_STEP) break
  }
  return Math.max(finished, attempts, abandoned, orphans)
}

async function settle(tx: Database, settlement: Settlement, now: number): Promise<Settled> {
  const { endpointId, eventId, attempt, status, durationMs, problem } = settlement
  await tx
    .prepare(
      `INSERT INTO webhook_attempts (endpoint_id, event_id, attempt, at, status, duration_ms, problem)
       VALUES ($1, $2, $3, ${toSharedNow(tx, 'CAST($4 AS BIGINT)')}, $5, $6, $7)
       ON CONFLICT (endpoint_id, event_id, attempt) DO NOTHING`,
    )
    .run(endpointId, eventId, attempt, now, status ?? null, durationMs, problem ?? null)
  if (problem === undefined) await recordSuccess(tx, settlement, now)
  else return recordFailure(tx, settlement, now)
  return { disabled: undefined }
}

/** A success counts even if the lease has ended meanwhile. */
async function recordSuccess(tx: Database, { endpointId, eventId }: Settlement, now: number) {
  await tx
    .prepare(
      `UPDATE webhook_deliveries SET state = 'delivered', finished_at = ${toSharedNow(tx, 'CAST($3 AS BIGINT)')}
       WHERE endpoint_id = $1 AND event_id = $2 AND state = 'pending'`,
    )
    .run(endpointId, eventId, now)
  await tx
    .prepare(
      'UPDATE webhook_endpoints SET failing_since = NULL, paused_until = 0 WHERE id = $1 AND failing_since IS NOT NULL',
    )
    .run(endpointId)
}

/** A failure counts only for the attempt that holds the lease: the number of the attempt names it. */
async function recordFailure(tx: Database, settlement: Settlement, now: number): Promise<Settled> {
  const { endpointId, eventId, attempt, retryInMs } = settlement
  const sharedNow = toSharedNow(tx, 'CAST($4 AS BIGINT)')
  const sql =
    retryInMs === undefined
      ? `UPDATE webhook_deliveries SET state = 'failed', tries = tries + 1, finished_at = ${sharedNow}
         WHERE endpoint_id = $1 AND event_id = $2 AND attempts = $3 AND state = 'pending'`
      : `UPDATE webhook_deliveries SET tries = tries + 1, due_at = ${sharedNow} + CAST($5 AS BIGINT)
         WHERE endpoint_id = $1 AND event_id = $2 AND attempts = $3 AND state = 'pending'`
  const values = [endpointId, eventId, attempt, now]
  await tx.prepare(sql).run(...values, ...(retryInMs === undefined ? [] : [retryInMs]))
  return blameEndpoint(tx, settlement, now)
}

/**
 * Between two failures of an endpoint there is at most the longest wait for the next attempt. After more time nothing was sent, or
 * a clock was ahead, and its failures begin anew.
 */
const MAX_PAUSE_MS = 2 * DAY_MS

async function blameEndpoint(tx: Database, settlement: Settlement, now: number): Promise<Settled> {
  const { endpointId, pauseMs = 0, isGone = false, disableAfterMs } = settlement
  const sharedNow = toSharedNow(tx, 'CAST($2 AS BIGINT)')
  const failingSince = `CASE WHEN ABS(${sharedNow} - failed_at) <= ${MAX_PAUSE_MS}
    THEN COALESCE(failing_since, ${sharedNow}) ELSE ${sharedNow} END`
  const hasFailedLong = `${sharedNow} - ${failingSince} >= CAST($4 AS BIGINT)`
  const row = await tx
    .prepare(
      `UPDATE webhook_endpoints SET failing_since = ${failingSince}, failed_at = ${sharedNow},
         paused_until = CASE WHEN CAST($3 AS BIGINT) > 0 THEN ${sharedNow} + CAST($3 AS BIGINT) ELSE paused_until END,
         disabled_at = CASE WHEN CAST($5 AS BIGINT) = 1 OR ${hasFailedLong} THEN ${sharedNow} END,
         disabled_reason = CASE WHEN CAST($5 AS BIGINT) = 1 THEN 'gone' WHEN ${hasFailedLong} THEN 'failing' END
       WHERE id = $1 AND disabled_at IS NULL RETURNING disabled_reason`,
    )
    .get(endpointId, now, pauseMs, disableAfterMs, isGone ? 1 : 0)
  return { disabled: (row?.disabled_reason as DisabledReason | null | undefined) ?? undefined }
}
