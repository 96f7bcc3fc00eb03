import type { Pausable } from './paused-connections.ts'

/** A request that waits to be admitted. */
type QueuedRequest = {
  readonly keyId: string
  /** Refused after that time. */
  readonly until: number
  readonly connection: Pausable | undefined
  /** True: it may begin. False: it is refused. */
  readonly settle: (admitted: boolean) => void
}

/** A few ticks may pass before the event loop reads a resumed connection. */
const MAX_RESERVED_TICKS = 3

/** A short queue: each call looks through it from its beginning. Connections that were just resumed reserve slots in it. */
export function createAdmissionQueue() {
  const queue: QueuedRequest[] = []
  /** In the order in which they were made, with the tick. */
  const reservations = new Map<Pausable, number>()
  let ticks = 0
  const useReservation = (connection: Pausable | undefined): boolean => {
    if (!connection?.hasReservation) return false
    connection.hasReservation = false
    return reservations.delete(connection)
  }
  return {
    /** Requests and reservations. */
    size: () => queue.length + reservations.size,
    add: (request: QueuedRequest) => void queue.push(request),
    /** Admits every request for which `acquire` succeeds. Requests of closed connections are dropped. */
    admit: (acquire: (keyId: string) => boolean) => {
      for (let index = 0; index < queue.length; ) {
        const { keyId, connection, settle } = queue[index] as QueuedRequest
        const isClosed = connection?.socket.destroyed === true
        if (isClosed || acquire(keyId)) {
          queue.splice(index, 1)
          settle(!isClosed)
        } else index += 1
      }
    },
    refuseLate: (now: number) => {
      for (const late of queue.filter(({ until }) => until < now)) {
        queue.splice(queue.indexOf(late), 1)
        late.settle(false)
      }
    },
    /** For the next request of a connection. */
    reserve: (connection: Pausable | undefined) => {
      if (!connection) return
      connection.hasReservation = true
      reservations.set(connection, ticks)
    },
    /** Whether the connection had a reservation, which is used up then. */
    useReservation,
    /** To be called once a tick. Drops the reservations of callers that did not send a request in time. */
    dropLateReservations: () => {
      ticks += 1
      for (const [connection, since] of reservations) {
        if (ticks - since < MAX_RESERVED_TICKS) return
        useReservation(connection)
      }
    },
  }
}
