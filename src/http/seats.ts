import type { Pausable } from './paused.ts'

/** A seat is kept for so many ticks: some may pass before the event loop reads the connection. */
const MOST_TICKS = 3

/** Connections that were just resumed. The request that comes on one may wait in the line. */
export function createSeats() {
  /** In the order in which they were given, with the tick. */
  const seats = new Map<Pausable, number>()
  let ticks = 0
  const take = (connection: Pausable | undefined): boolean => {
    if (!connection?.hasSeat) return false
    connection.hasSeat = false
    return seats.delete(connection)
  }
  return {
    size: () => seats.size,
    give: (connection: Pausable | undefined) => {
      if (!connection) return
      connection.hasSeat = true
      seats.set(connection, ticks)
    },
    /** Whether it had one, which is free then. */
    take,
    /** Callers that do not ask again at once lose theirs. */
    tick: () => {
      ticks += 1
      for (const [connection, since] of seats) {
        if (ticks - since < MOST_TICKS) return
        take(connection)
      }
    },
  }
}
