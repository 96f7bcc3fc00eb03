import { type Connection, type ConnectionLimits, isResponseDue } from './connection.ts'

/** A connection has so long to present its key before it may be closed for another one of its address. */
const GRACE_MS = 3000

/**
 * The connections on which no valid key was presented, by address. Above the limit, the oldest is closed
 * that is idle or does not read its responses.
 */
export function createUnauthenticatedConnections(
  limits: ConnectionLimits,
  close: (connection: Connection) => void,
) {
  const byAddress = new Map<string, Set<Connection>>()
  const closeOldest = (connections: ReadonlySet<Connection>) => {
    const before = performance.now() - GRACE_MS
    for (const connection of connections) {
      if (connection.openedAt > before) return
      if (isResponseDue(connection)) continue
      close(connection)
      return
    }
  }
  return {
    add: (connection: Connection, address: string): void => {
      if (limits.isProxy(address)) return
      const connections = byAddress.get(address) ?? new Set()
      byAddress.set(address, connections.add(connection))
      if (connections.size > limits.unauthenticatedPerAddress) closeOldest(connections)
    },
    remove: (connection: Connection, address: string): void => {
      const connections = byAddress.get(address)
      connections?.delete(connection)
      if (connections?.size === 0) byAddress.delete(address)
    },
  }
}
