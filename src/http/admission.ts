import type { Config } from '../config/config.ts'
import { createAdmissionQueue } from './admission-queue.ts'
import { watchEventLoopLag } from './event-loop-lag.ts'
import { createInFlight, type InFlightLimits } from './in-flight.ts'
import { createPausedConnections, type Pausable } from './paused-connections.ts'
import { createQueueReservations } from './queue-reservations.ts'
import { createRefusalBudget } from './refusal-budget.ts'

/**
 * Bounds the requests in flight. A request above the limit waits in a short queue, or is refused at once when the queue is
 * full. The connection of a refused request is paused: what its caller sends next stays unread until its turn comes, and
 * is served then. So each caller costs one refusal for each response, however fast it retries.
 */
export type Admission = {
  /** Undefined: the request may begin. False: it is refused. A promise of whether it may begin, while it is queued. */
  readonly enter: (keyId: string, connection?: Pausable) => undefined | false | Promise<boolean>
  /** To be called once for every request that was admitted. */
  readonly leave: (keyId: string) => void
  /** To be called when a refusal was sent. */
  readonly pause: (keyId: string, connection: Pausable) => void
  /** The server stops: reads all connections again, and pauses no more. */
  readonly resumeAll: () => void
  readonly close: () => void
}

/** One key may take most of the limit unless the operator says otherwise, and never all. */
const SHARE_OF_KEY = 0.8

export const toInFlightLimits = ({
  maxInFlight: all,
  maxInFlightPerKey: perKey = Math.ceil(all * SHARE_OF_KEY),
}: Pick<Config, 'maxInFlight' | 'maxInFlightPerKey'>): InFlightLimits => ({ all, perKey })

/** About as many requests as are answered in 15 ms. Connections that were just resumed have reserved a part of it. */
const MAX_QUEUED = 64
/** With fewer requests in flight, a request begins whatever the event loop and the paused connections say. */
const FEW = 16
const MAX_WAIT_MS = 30
/** For a request whose connection was paused before. */
const MAX_WAIT_IN_TURN_MS = 1000
const MAX_PAUSE_MS = 1500
const TICK_MS = 10

export function createAdmission(limits: InFlightLimits): Admission {
  const { lag, inFlight, acquire, queue, reservations, paused, budget } = createParts(limits)
  let [responses, isStopping] = [0, false]
  let ticking: NodeJS.Timeout | undefined

  const isQueueFull = () => queue.size() + reservations.size() >= MAX_QUEUED
  const resumeIntoQueue = () => {
    while (paused.size() > 0 && !isQueueFull()) reservations.make(paused.resumeNext())
  }
  const tick = () => {
    const now = performance.now()
    reservations.tick()
    queue.refuseLate(now)
    queue.admit(acquire)
    resumeIntoQueue()
    paused.resumeOlder(now - MAX_PAUSE_MS)
    for (let left = budget.read(responses); left >= 1 && paused.size() > 0; left--) paused.resumeNext()
    responses = 0
    if (queue.size() + reservations.size() + paused.size() > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
  const startTicking = () => {
    budget.restart()
    responses = 0
    return setInterval(tick, TICK_MS)
  }
  return {
    enter: (keyId, connection) => {
      const isInTurn = reservations.use(connection)
      const isBehind = !isInTurn && paused.has(keyId)
      if ((!isBehind || inFlight.count() < FEW) && acquire(keyId)) return undefined
      if (!isInTurn && (isBehind || isQueueFull())) return false
      ticking ??= startTicking()
      const until = performance.now() + (isInTurn ? MAX_WAIT_IN_TURN_MS : MAX_WAIT_MS)
      return new Promise((settle) => queue.add({ keyId, until, connection, settle }))
    },
    leave: (keyId) => {
      inFlight.release(keyId)
      responses += 1
      if (queue.size() > 0) queue.admit(acquire)
      if (paused.size() > 0) resumeIntoQueue()
    },
    pause: (keyId, connection) => {
      if (isStopping || connection.socket.destroyed) return
      paused.add(keyId, connection, performance.now())
      ticking ??= startTicking()
    },
    resumeAll: () => {
      isStopping = true
      paused.resumeOlder(Number.POSITIVE_INFINITY)
    },
    close: () => {
      lag.close()
      clearInterval(ticking)
    },
  }
}

function createParts(limits: InFlightLimits) {
  const lag = watchEventLoopLag()
  const inFlight = createInFlight(limits)
  const acquire = (keyId: string) => {
    if (inFlight.count() >= FEW && lag.isTooLong()) return false
    return inFlight.acquire(keyId)
  }
  const [queue, reservations, paused, budget] = [
    createAdmissionQueue(),
    createQueueReservations(),
    createPausedConnections(),
    createRefusalBudget(),
  ]
  return { lag, inFlight, acquire, queue, reservations, paused, budget }
}
