import type { Pausable } from './paused-connections.ts'

/** A few ticks may pass before the event loop reads a resumed connection. */
const MAX_TICKS = 3

/** Connections that were just resumed. Each reserves a slot in the queue for its next request. */
export function createQueueReservations() {
  /** In the order in which they were made, with the tick. */
  const reservations = new Map<Pausable, number>()
  let ticks = 0
  const use = (connection: Pausable | undefined): boolean => {
    if (!connection?.hasReservation) return false
    connection.hasReservation = false
    return reservations.delete(connection)
  }
  return {
    size: () => reservations.size,
    make: (connection: Pausable | undefined) => {
      if (!connection) return
      connection.hasReservation = true
      reservations.set(connection, ticks)
    },
    /** Whether the connection had a reservation, which is used up then. */
    use,
    /** Drops the reservations of callers that did not send a request in time. */
    tick: () => {
      ticks += 1
      for (const [connection, since] of reservations) {
        if (ticks - since < MAX_TICKS) return
        use(connection)
      }
    },
  }
}
