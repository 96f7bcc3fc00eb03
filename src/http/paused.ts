import type { Socket } from 'node:net'

/** A connection that was answered `overloaded` is not read for a while: its caller may ask again at once. */
export type Pausable = {
  readonly socket: Pick<Socket, 'pause' | 'resume' | 'destroyed'>
  /** Holds a seat in the line for its next request. */
  hasSeat: boolean
}

/** The paused connections by key. Each key has its own line, and keys take turns. */
export type Paused = {
  readonly size: () => number
  readonly has: (keyId: string) => boolean
  readonly add: (keyId: string, connection: Pausable, now: number) => void
  /** Reads the next connection again, and returns it. */
  readonly resume: () => Pausable | undefined
  /** Reads those again that were paused before that time. */
  readonly resumeOld: (before: number) => void
}

export function createPaused(): Paused {
  /** The key that had its turn last stands last. Times by connection, in the order in which they were paused. */
  const lines = new Map<string, Map<Pausable, number>>()
  let size = 0

  const take = (keyId: string, line: Map<Pausable, number>, connection: Pausable) => {
    line.delete(connection)
    size -= 1
    lines.delete(keyId)
    if (line.size > 0) lines.set(keyId, line)
    connection.socket.resume()
  }
  return {
    size: () => size,
    has: (keyId) => size > 0 && lines.has(keyId),
    add: (keyId, connection, now) => {
      const line = lines.get(keyId) ?? new Map<Pausable, number>()
      if (line.has(connection)) return
      connection.socket.pause()
      lines.set(keyId, line.set(connection, now))
      size += 1
    },
    resume: () => {
      for (const [keyId, line] of lines)
        for (const connection of line.keys()) {
          take(keyId, line, connection)
          if (!connection.socket.destroyed) return connection
          break
        }
      return undefined
    },
    resumeOld: (before) => {
      for (const [keyId, line] of [...lines])
        for (const [connection, since] of line) {
          if (since >= before) break
          take(keyId, line, connection)
        }
    },
  }
}
