import { steadyNow } from '../contract/time.ts'
import type { NodeRow, NodeTable } from '../database/node-table.ts'
import { VERSION } from '../version.ts'

/** What this process does now. Filled by the API server. */
type Load = {
  /** Requests finished since the start. */
  finished: number
  countInFlight: () => number
}

/** The servers of this database, as of the last heartbeat of this process. */
export type Nodes = {
  /** What this process reports about itself. */
  readonly load: Load
  /** Nodes with a heartbeat, this one included. While the database is unreachable, those that were last known. */
  readonly count: () => number
  /** The same for processes: a node may have several workers. */
  readonly countProcesses: () => number
  /**
   * A process that was last seen before this time, by the shared clock, is dead. Undefined unless the heartbeats of this process
   * have reached the database regularly for as long as a dead one sends none: otherwise the database may have stood still, and
   * then every process looks dead in it for a moment. A statement that uses the time may itself wait in such a database.
   */
  readonly deadBefore: () => number | undefined
  readonly deleteExpired: () => Promise<number>
  /** Ends the heartbeats and removes the row of this process. */
  readonly close: () => Promise<void>
}

type NodesOptions = {
  readonly table: NodeTable
  readonly self: Pick<NodeRow, 'owner' | 'node' | 'worker'>
  /** What is read from the database at intervals, and when it last was, on the monotonic clock. */
  readonly learning: readonly { readonly learntAt: () => number }[]
  /** Monotonic. */
  readonly monotonicNow?: () => number
}

/** Sends heartbeats until it is closed, and counts the others after each. The first one is sent before it resolves. */
export async function openNodes({
  table,
  self,
  learning,
  monotonicNow = () => performance.now(),
}: NodesOptions): Promise<Nodes> {
  const load: Load = { finished: 0, countInFlight: () => 0 }
  let nodes = 1
  let processes = 1
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let before = { finished: load.finished, at: performance.now() }
  /** Since when no heartbeat was missed, and when the last one arrived; and its time by the shared clock. */
  let steady = { since: Number.POSITIVE_INFINITY, until: Number.NEGATIVE_INFINITY }
  let seenAt: number | undefined

  const measure = () => {
    const { finished, at } = before
    before = { finished: load.finished, at: performance.now() }
    const seconds = (before.at - at) / 1000
    const learntAt = Math.min(before.at, ...learning.map((each) => each.learntAt()))
    return {
      inFlight: load.countInFlight(),
      requestsPerS: seconds > 0 ? Math.round((before.finished - finished) / seconds) : 0,
      lagMs: Math.round(before.at - learntAt),
      uptimeMs: Math.round(process.uptime() * 1000),
    }
  }
  const isRegular = (at: number) => at - steady.until < 2 * table.heartbeatMs
  const beat = async () => {
    await table.sendHeartbeat({ ...self, version: VERSION, ...measure() }, steadyNow())
    const at = monotonicNow()
    steady = { since: isRegular(at) ? steady.since : at, until: at }
    const all = await table.list(steadyNow())
    seenAt = all.find(({ owner }) => owner === self.owner)?.seenAt
    const others = all.filter(({ owner, isAlive }) => isAlive && owner !== self.owner)
    processes = others.length + 1
    nodes = new Set([self.node, ...others.map(({ node }) => node)]).size
  }
  // Store unavailable; reported elsewhere, and the next heartbeat tries again.
  const beatQuietly = () => beat().catch(() => {})
  let running = beatQuietly()
  const schedule = () => {
    if (!closed) timer = setTimeout(again, table.heartbeatMs).unref()
  }
  const again = () => {
    running = beatQuietly().finally(schedule)
  }
  await running
  schedule()

  return {
    load,
    count: () => nodes,
    countProcesses: () => processes,
    deadBefore: () => {
      const at = monotonicNow()
      const isSteady = isRegular(at) && at - steady.since >= table.deadMs
      return isSteady && seenAt !== undefined ? seenAt - table.deadMs : undefined
    },
    deleteExpired: () => table.deleteExpired(steadyNow()),
    close: async () => {
      closed = true
      clearTimeout(timer)
      await running
      await table.leave(self.owner).catch(() => {})
    },
  }
}

/** A server process, as the admin API and the command line show it. */
export type NodeReport = ReturnType<typeof toReport>

export const readNodeReports = async (table: Pick<NodeTable, 'list'>): Promise<NodeReport[]> =>
  (await table.list(steadyNow())).map(toReport)

const toReport = (row: NodeRow) => ({
  node: row.node,
  worker: row.worker,
  process: row.owner,
  version: row.version,
  alive: row.isAlive,
  started_at: new Date(row.startedAt).toISOString(),
  seen_at: new Date(row.seenAt).toISOString(),
  uptime_s: Math.max(0, Math.round((row.seenAt - row.startedAt) / 1000)),
  in_flight: row.inFlight,
  requests_per_s: row.requestsPerS,
  lag_ms: row.lagMs,
})
