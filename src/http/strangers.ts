import type { Connection, ConnectionLimits } from './connection.ts'

/** A connection is given so long to show its key before it may be closed for another one of its address. */
const GRACE_MS = 3000

/** The connections on which no valid key was presented, by address. Above the limit, the oldest idle one is dropped. */
export function createStrangers(limits: ConnectionLimits, drop: (connection: Connection) => void) {
  const groups = new Map<string, Set<Connection>>()
  const dropOldest = (group: ReadonlySet<Connection>) => {
    const before = performance.now() - GRACE_MS
    for (const connection of group) {
      if (connection.openedAt > before) return
      if (connection.underWay > 0) continue
      drop(connection)
      return
    }
  }
  return {
    add: (connection: Connection, address: string): void => {
      if (limits.isProxy(address)) return
      const group = groups.get(address) ?? new Set()
      groups.set(address, group.add(connection))
      if (group.size > limits.strangersPerAddress) dropOldest(group)
    },
    remove: (connection: Connection, address: string): void => {
      const group = groups.get(address)
      group?.delete(connection)
      if (group?.size === 0) groups.delete(address)
    },
  }
}
