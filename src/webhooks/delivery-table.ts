import type { Database, Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { deleteSome } from '../database/delete-some.ts'
import { type Settled, type Settlement, settleInTx } from './settle-delivery.ts'
import type { EndpointRow } from './webhook-table.ts'

/** A delivery that this process is to attempt now. */
export type ClaimedDelivery = {
  readonly endpointId: string
  readonly eventId: string
  readonly type: string
  readonly body: string
  /** Failed attempts since the event was sent or resent. */
  readonly tries: number
  /** The number of this attempt. */
  readonly attempt: number
}

/** An endpoint that has something to deliver now. */
export type DueEndpoint = Pick<EndpointRow, 'id' | 'url' | 'secret' | 'previousSecret' | 'previousUntil'> & {
  readonly isFailing: boolean
}

type DeliveryState = 'pending' | 'delivered' | 'failed'

export type DeliveryRow = {
  readonly eventId: string
  readonly type: string
  readonly reference: string
  readonly state: DeliveryState
  /** When the next attempt may be made. */
  readonly dueAt: number | undefined
  readonly finishedAt: number | undefined
  readonly attempts: readonly AttemptRow[]
}

type AttemptRow = {
  readonly attempt: number
  readonly at: number
  /** Undefined when there was no HTTP response. */
  readonly status: number | undefined
  readonly durationMs: number
  readonly problem: string | undefined
}

type Claim = { readonly endpointId: string; readonly most: number; readonly leaseMs: number }
type Page = { readonly endpointId: string; readonly most: number; readonly before?: string | undefined }
type Kept = { readonly ageMs: number; readonly most: number }

/** One event for one endpoint each; they stay as a log for a time. Times are of the clock that all nodes share. */
export type DeliveryTable = {
  /** The enabled endpoints that have something to deliver now. */
  readonly listDue: (now: number) => Promise<DueEndpoint[]>
  /** The oldest first. A delivery waits until earlier ones of its reference are no longer pending. */
  readonly claim: (claim: Claim, now: number) => Promise<ClaimedDelivery[]>
  /** Gives a claim back: the attempt was not finished. */
  readonly release: (delivery: ClaimedDelivery, now: number) => Promise<void>
  /** Writes the result of an attempt. */
  readonly settle: (settlement: Settlement, now: number) => Promise<Settled>
  /** The newest first. */
  readonly list: (page: Page) => Promise<DeliveryRow[]>
  /** Sends it again, whatever became of it. False when there is no such delivery. */
  readonly resend: (endpointId: string, eventId: string, now: number) => Promise<boolean>
  /** Counts up to `most`. */
  readonly countPending: (endpointId: string, most: number) => Promise<number>
  /** Deletes some of what is too old or too much, or of a deleted endpoint; see delete-some.ts. */
  readonly deleteExpired: (kept: Kept, now: number) => Promise<number>
}

export function createDeliveryTable(database: Database): DeliveryTable {
  const due = database.prepare(toListDue(database))
  const claim = database.prepare(toClaim(database))
  const list = database.prepare(LIST)
  const attempts = database.prepare(LIST_ATTEMPTS)
  const count = database.prepare(COUNT_PENDING)
  return {
    listDue: async (now) => (await due.all(now)).map(toDue),
    claim: async ({ endpointId, most, leaseMs }, now) =>
      (await claim.all(endpointId, most, leaseMs, now)).map(toClaimed),
    release: async ({ endpointId, eventId, attempt }, now) => {
      await database.prepare(toRelease(database)).run(endpointId, eventId, attempt, now)
    },
    settle: (settlement, now) => database.transaction((tx) => settleInTx(tx, settlement, now)),
    list: async ({ endpointId, most, before = '~' }) => {
      const rows = await list.all(endpointId, before, most)
      return Promise.all(
        rows.map(async (row) => toDelivery(row, await attempts.all(endpointId, String(row.event_id)))),
      )
    },
    resend: async (endpointId, eventId, now) =>
      (await database.prepare(toResend(database)).run(endpointId, eventId, now)) > 0,
    countPending: async (endpointId, most) => Number((await count.get(endpointId, most))?.count),
    deleteExpired: (kept, now) => deleteExpired(database, kept, now),
  }
}

const toListDue = (database: Database) => {
  const now = toSharedNow(database, 'CAST($1 AS BIGINT)')
  return `SELECT e.id, e.url, e.secret, e.previous_secret, e.previous_until, e.failing_since FROM webhook_endpoints e
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
    RETURNING endpoint_id, event_id, type, body, tries, attempts`
}

const LIST = `SELECT event_id, type, reference, state, due_at, finished_at FROM webhook_deliveries
  WHERE endpoint_id = $1 AND event_id < $2 ORDER BY event_id DESC LIMIT $3`

const LIST_ATTEMPTS = `SELECT attempt, at, status, duration_ms, problem FROM webhook_attempts
  WHERE endpoint_id = $1 AND event_id = $2 ORDER BY attempt`

const COUNT_PENDING = `SELECT COUNT(*) AS count FROM (
  SELECT 1 AS one FROM webhook_deliveries WHERE endpoint_id = $1 AND state = 'pending' LIMIT $2) AS waiting`

const toResend = (database: Database) => `UPDATE webhook_deliveries
  SET state = 'pending', finished_at = NULL, tries = 0, due_at = ${toSharedNow(database, 'CAST($3 AS BIGINT)')}
  WHERE endpoint_id = $1 AND event_id = $2`

const toRelease = (database: Database) => `UPDATE webhook_deliveries
  SET due_at = ${toSharedNow(database, 'CAST($4 AS BIGINT)')}
  WHERE endpoint_id = $1 AND event_id = $2 AND attempts = $3 AND state = 'pending'`

const ORPHANS = `NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = endpoint_id)`

/** Pending deliveries of an enabled endpoint are never deleted: their attempts end. */
async function deleteExpired(database: Database, { ageMs, most }: Kept, now: number): Promise<number> {
  const tooOld = `${toSharedNow(database, 'CAST($1 AS BIGINT)')} - CAST($2 AS BIGINT)`
  const row = await database.prepare(NEWEST_FINISHED).get(most)
  const newest = Number(row?.finished_at ?? 0)
  const finished = await deleteSome(
    database,
    'webhook_deliveries',
    `finished_at IS NOT NULL AND (finished_at < ${tooOld} OR finished_at < CAST($3 AS BIGINT))`,
    ...[now, ageMs, newest],
  )
  const attempts = await deleteSome(
    database,
    'webhook_attempts',
    `at < ${tooOld} OR at < CAST($3 AS BIGINT)`,
    ...[now, ageMs, newest],
  )
  const orphans = await deleteSome(database, 'webhook_deliveries', ORPHANS)
  const abandoned = await deleteSome(
    database,
    'webhook_deliveries',
    `state = 'pending' AND due_at < ${tooOld} AND EXISTS (SELECT 1 FROM webhook_endpoints e
      WHERE e.id = endpoint_id AND e.disabled_at < ${tooOld})`,
    ...[now, ageMs],
  )
  return Math.max(finished, attempts, orphans, abandoned)
}

const NEWEST_FINISHED = `SELECT finished_at FROM webhook_deliveries WHERE finished_at IS NOT NULL
  ORDER BY finished_at DESC LIMIT 1 OFFSET $1`

const toOptional = (value: unknown) => (value === null ? undefined : Number(value))

const toDue = (row: Row): DueEndpoint => ({
  id: String(row.id),
  url: String(row.url),
  secret: row.secret as Uint8Array,
  previousSecret: (row.previous_secret as Uint8Array | null) ?? undefined,
  previousUntil: toOptional(row.previous_until),
  isFailing: row.failing_since !== null,
})

const toClaimed = (row: Row): ClaimedDelivery => ({
  endpointId: String(row.endpoint_id),
  eventId: String(row.event_id),
  type: String(row.type),
  body: String(row.body),
  tries: Number(row.tries),
  attempt: Number(row.attempts),
})

const toDelivery = (row: Row, attempts: readonly Row[]): DeliveryRow => ({
  eventId: String(row.event_id),
  type: String(row.type),
  reference: String(row.reference),
  state: row.state as DeliveryState,
  dueAt: row.state === 'pending' ? Number(row.due_at) : undefined,
  finishedAt: toOptional(row.finished_at),
  attempts: attempts.map((attempt) => ({
    attempt: Number(attempt.attempt),
    at: Number(attempt.at),
    status: toOptional(attempt.status),
    durationMs: Number(attempt.duration_ms),
    problem: attempt.problem === null ? undefined : String(attempt.problem),
  })),
})
