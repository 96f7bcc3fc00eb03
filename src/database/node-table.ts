import { toSharedNow } from './database-clock.ts'
import { defineColumns, defineTable, number, type RowOf, type TableOf, text } from './define-table.ts'
import { deleteSome } from './delete-some.ts'

const NODE = defineColumns({
  /** The process, as in the audit chains and the claims of Idempotency-Keys. */
  owner: text(),
  /** The name in its data folder. */
  node: text(),
  worker: number(),
  version: text(),
  startedAt: number(),
  /** Its last heartbeat, by the clock that all nodes share. */
  seenAt: number(),
  inFlight: number(),
  requestsPerS: number(),
  /** How old is what it has learnt: catalogue and kill switches. */
  lagMs: number(),
})

/** A server process. */
export type NodeRow = RowOf<typeof NODE> & {
  /** How long ago its last heartbeat was. */
  readonly ageMs: number
  readonly isAlive: boolean
}

export type Heartbeat = Omit<RowOf<typeof NODE>, 'startedAt' | 'seenAt'> & { readonly uptimeMs: number }

/** A process without a heartbeat for `deadMs` is dead. In SQLite every heartbeat waits for the disk, so there are few. */
export const HEARTBEATS = {
  postgres: { everyMs: 1000, deadMs: 3000 },
  sqlite: { everyMs: 10_000, deadMs: 30_000 },
} as const

const KEPT_MS = 3_600_000

export const nodeTable = defineTable({
  reads: (database) => {
    const { everyMs, deadMs } = HEARTBEATS[database.dialect]
    const list = database.prepare(
      `SELECT ${NODE.names}, ${toSharedNow(database, '$1')} - seen_at AS age_ms
       FROM nodes ORDER BY node, worker, started_at, owner`,
    )
    return {
      heartbeatMs: everyMs,
      deadMs,
      /** All processes of the last hour, by node and worker. */
      list: async (now: number) =>
        (await list.all(now)).map((row): NodeRow => {
          const ageMs = Number(row.age_ms)
          return { ...NODE.decode(row), ageMs, isAlive: ageMs < deadMs }
        }),
    }
  },
  writes: (database) => {
    const now = toSharedNow(database, '$8')
    const heartbeat = database.prepare(
      `INSERT INTO nodes (owner, node, worker, version, in_flight, requests_per_s, lag_ms, seen_at, started_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, ${now}, ${now} - CAST($9 AS BIGINT))
       ON CONFLICT (owner) DO UPDATE SET in_flight = excluded.in_flight, requests_per_s = excluded.requests_per_s,
         lag_ms = excluded.lag_ms, seen_at = excluded.seen_at`,
    )
    return {
      /** Writes the row of a process, or renews it. */
      sendHeartbeat: async (beat: Heartbeat, at: number) => {
        const { owner, node, worker, version, inFlight, requestsPerS, lagMs, uptimeMs } = beat
        await heartbeat.run(owner, node, worker, version, inFlight, requestsPerS, lagMs, at, uptimeMs)
      },
      /** Of a process that stops. */
      leave: async (owner: string) =>
        void (await database.prepare('DELETE FROM nodes WHERE owner = $1').run(owner)),
      /** Deletes the rows of processes that died more than an hour ago. */
      deleteExpired: (at: number) =>
        deleteSome(database, 'nodes', `seen_at < ${toSharedNow(database, '$1')} - ${KEPT_MS}`, at),
    }
  },
})
export type NodeTable = TableOf<typeof nodeTable>
