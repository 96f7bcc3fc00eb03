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

/** A short queue: each call looks through it from its beginning. */
export function createAdmissionQueue() {
  const queue: QueuedRequest[] = []
  return {
    size: () => queue.length,
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
  }
}
