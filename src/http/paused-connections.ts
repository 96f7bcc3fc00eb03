import type { Socket } from 'node:net'
import type { Reading } from './read-in-turns.ts'

/** A connection whose request was refused is not read for a while: its caller may retry at once. */
export type Pausable = {
  readonly socket: Pick<Socket, 'pause' | 'resume' | 'destroyed'>
  isPaused: boolean
  hasTurn: boolean
  readonly reading: Reading | undefined
  /** Holds a slot in the queue for its next request. */
  hasReservation: boolean
}

/** The paused connections. Each key has its own queue, and keys take turns. */
type PausedConnections = {
  readonly size: () => number
  readonly has: (keyId: string) => boolean
  readonly add: (keyId: string, connection: Pausable, now: number) => void
  /** Reads the next connection again, and returns it. */
  readonly resumeNext: () => Pausable | undefined
  /** Reads connections again that were paused before that time, `most` at most. Keys take turns. */
  readonly resumeOlder: (before: number, most: number) => void
}

export function createPausedConnections(): PausedConnections {
  /** The key that had its turn last comes last. Each queue holds the time of each pause, the oldest first. */
  const queues = new Map<string, Map<Pausable, number>>()
  let size = 0

  const resume = (keyId: string, queue: Map<Pausable, number>, connection: Pausable) => {
    queue.delete(connection)
    size -= 1
    queues.delete(keyId)
    if (queue.size > 0) queues.set(keyId, queue)
    connection.isPaused = false
    connection.hasTurn = true
    if (connection.reading?.isHeld()) connection.reading.goOn()
    else connection.socket.resume()
  }
  return {
    size: () => size,
    has: (keyId) => size > 0 && queues.has(keyId),
    add: (keyId, connection, now) => {
      const queue = queues.get(keyId) ?? new Map<Pausable, number>()
      if (queue.has(connection)) return
      connection.isPaused = true
      connection.socket.pause()
      queues.set(keyId, queue.set(connection, now))
      size += 1
    },
    resumeNext: () => {
      for (const [keyId, queue] of queues)
        for (const connection of queue.keys()) {
          resume(keyId, queue, connection)
          if (!connection.socket.destroyed) return connection
          break
        }
      return undefined
    },
    resumeOlder: (before, most) => {
      for (let left = most, found = true; left > 0 && found; ) {
        found = false
        for (const [keyId, queue] of [...queues]) {
          const [oldest] = queue
          if (!oldest || oldest[1] >= before || left === 0) continue
          resume(keyId, queue, oldest[0])
          found = true
          left -= 1
        }
      }
    },
  }
}
