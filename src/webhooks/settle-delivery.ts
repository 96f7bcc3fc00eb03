import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import type { DisabledReason } from './webhook-table.ts'

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

export async function settleInTx(tx: Database, settlement: Settlement, now: number): Promise<Settled> {
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

async function blameEndpoint(tx: Database, settlement: Settlement, now: number): Promise<Settled> {
  const { endpointId, pauseMs = 0, isGone = false, disableAfterMs } = settlement
  const sharedNow = toSharedNow(tx, 'CAST($2 AS BIGINT)')
  const hasFailedLong = `${sharedNow} - COALESCE(failing_since, ${sharedNow}) >= CAST($4 AS BIGINT)`
  const row = await tx
    .prepare(
      `UPDATE webhook_endpoints SET failing_since = COALESCE(failing_since, ${sharedNow}),
         paused_until = CASE WHEN CAST($3 AS BIGINT) > 0 THEN ${sharedNow} + CAST($3 AS BIGINT) ELSE paused_until END,
         disabled_at = CASE WHEN CAST($5 AS BIGINT) = 1 OR ${hasFailedLong} THEN ${sharedNow} END,
         disabled_reason = CASE WHEN CAST($5 AS BIGINT) = 1 THEN 'gone' WHEN ${hasFailedLong} THEN 'failing' END
       WHERE id = $1 AND disabled_at IS NULL RETURNING disabled_reason`,
    )
    .get(endpointId, now, pauseMs, disableAfterMs, isGone ? 1 : 0)
  return { disabled: (row?.disabled_reason as DisabledReason | null | undefined) ?? undefined }
}
