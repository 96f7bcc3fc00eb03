import type { Database, Row } from './database.ts'
import { toSharedNow } from './database-clock.ts'
import { deleteSome } from './delete-some.ts'

/** A server process. */
export type NodeRow = {
  /** The process, as in the audit chains and the claims of Idempotency-Keys. */
  readonly owner: string
  /** The name in its data folder. */
  readonly node: string
  readonly worker: number
  readonly version: string
  readonly startedAt: number
  /** Its last heartbeat, and how long ago that was, by the clock that all nodes share. */
  readonly seenAt: number
  readonly ageMs: number
  readonly isAlive: boolean
  readonly inFlight: number
  readonly requestsPerS: number
  /** How old is what it has learnt: catalogue and kill switches. */
  readonly lagMs: number
}

export type Heartbeat = Omit<NodeRow, 'startedAt' | 'seenAt' | 'ageMs' | 'isAlive'> & {
  readonly uptimeMs: number
}

export type NodeTable = {
  readonly heartbeatMs: number
  /** Writes the row of a process, or renews it. */
  readonly sendHeartbeat: (heartbeat: Heartbeat, now: number) => Promise<void>
  /** All processes of the last hour, by node and worker. */
  readonly list: (now: number) => Promise<NodeRow[]>
  /** Of a process that stops. */
  readonly leave: (owner: string) => Promise<void>
  /** Deletes the rows of processes that died more than an hour ago. */
  readonly deleteExpired: (now: number) => Promise<number>
}

/** A process without a heartbeat for `deadMs` is dead. In SQLite every heartbeat waits for the disk, so there are few. */
export const HEARTBEATS = {
  postgres: { everyMs: 1000, deadMs: 3000 },
  sqlite: { everyMs: 10_000, deadMs: 30_000 },
} as const

const KEPT_MS = 3_600_000

export function createNodeTable(database: Database): NodeTable {
  const { everyMs, deadMs } = HEARTBEATS[database.dialect]
  const now = toSharedNow(database, '$8')
  const heartbeat = database.prepare(
    `INSERT INTO nodes (owner, node, worker, version, in_flight, requests_per_s, lag_ms, seen_at, started_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, ${now}, ${now} - CAST($9 AS BIGINT))
     ON CONFLICT (owner) DO UPDATE SET in_flight = excluded.in_flight, requests_per_s = excluded.requests_per_s,
       lag_ms = excluded.lag_ms, seen_at = excluded.seen_at`,
  )
  const list = database.prepare(
    `SELECT owner, node, worker, version, started_at, seen_at, in_flight, requests_per_s, lag_ms,
       ${toSharedNow(database, '$1')} - seen_at AS age_ms
     FROM nodes ORDER BY node, worker, started_at, owner`,
  )
  return {
    heartbeatMs: everyMs,
    sendHeartbeat: async (beat, at) => {
      const { owner, node, worker, version, inFlight, requestsPerS, lagMs, uptimeMs } = beat
      await heartbeat.run(owner, node, worker, version, inFlight, requestsPerS, lagMs, at, uptimeMs)
    },
    list: async (at) => (await list.all(at)).map((row) => toNode(row, deadMs)),
    leave: async (owner) => {
      await database.prepare('DELETE FROM nodes WHERE owner = $1').run(owner)
    },
    deleteExpired: (at) =>
      deleteSome(database, 'nodes', `seen_at < ${toSharedNow(database, '$1')} - ${KEPT_MS}`, at),
  }
}

const toNode = (row: Row, deadMs: number): NodeRow => ({
  owner: String(row.owner),
  node: String(row.node),
  worker: Number(row.worker),
  version: String(row.version),
  startedAt: Number(row.started_at),
  seenAt: Number(row.seen_at),
  ageMs: Number(row.age_ms),
  isAlive: Number(row.age_ms) < deadMs,
  inFlight: Number(row.in_flight),
  requestsPerS: Number(row.requests_per_s),
  lagMs: Number(row.lag_ms),
})
