import { type Static, Type } from '../../contract/schema.ts'
import { Time } from './fields.ts'

const NodeView = Type.Object({
  /** The name in the data folder of the node. */
  node: Type.String(),
  worker: Type.Integer(),
  /** Host, process id, and a random suffix. */
  process: Type.String(),
  version: Type.String(),
  alive: Type.Boolean(),
  started_at: Time,
  seen_at: Time,
  uptime_s: Type.Integer(),
  in_flight: Type.Integer(),
  requests_per_s: Type.Integer(),
  /** How old is what the process has learnt from the database: catalogue and kill switches. */
  lag_ms: Type.Integer(),
})
export const NodesView = Type.Object({ nodes: Type.Array(NodeView) })
export type NodesView = Static<typeof NodesView>
