import { steadyNow } from '../contract/time.ts'
import type { NodeRow, NodeTable } from '../database/node-table.ts'

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
