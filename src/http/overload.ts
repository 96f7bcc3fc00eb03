import { createAdmissionQueue } from './admission-queue.ts'
import type { InFlight } from './in-flight.ts'
import { createPausedConnections, type Pausable } from './paused-connections.ts'
import { createRefusalBudget } from './refusal-budget.ts'

/**
 * What happens above the in-flight limit. A request waits in a short queue, or is refused at once when the queue is full.
 * The connection of a refused request is paused: what its caller sends next stays unread until its turn comes, and is
 * served then. While a key has paused connections, its other requests are not read before their turn either. So a caller
 * costs one refusal, however fast it asks.
 */
type Overload = {
  /** Whether requests are queued or connections paused. */
  readonly isActive: () => boolean
  /** For a request that does not begin at once. The result is that of `Admission.enter`. */
  readonly enter: (keyId: string, connection?: Pausable) => undefined | false | Promise<boolean>
  /** To be called when a request has ended while overload is active. */
  readonly countResponse: () => void
  /** To be called when there may be room for another request while overload is active. */
  readonly fill: () => void
  readonly pause: (keyId: string, connection: Pausable) => void
  /** Whether a request of the key would be refused because others of it came first. */
  readonly isBehind: (keyId: string) => boolean
  readonly resumeAll: () => void
  readonly close: () => void
}

/** About as many requests as are answered in 15 ms. Connections that were just resumed have reserved a part of it. */
const MAX_QUEUED = 64
const MAX_WAIT_MS = 30
/** For a request whose connection was paused before. */
const MAX_WAIT_IN_TURN_MS = 1000
const MAX_PAUSE_MS = 1500
/**
 * In a tick. Thousands that were paused at the same time would otherwise be refused again in one turn of the event loop, and the
 * requests of every other key would wait for that.
 */
const MAX_RESUMED = 100
const TICK_MS = 10

export function createOverload(inFlight: InFlight): Overload {
  const [queue, paused, budget] = [createAdmissionQueue(), createPausedConnections(), createRefusalBudget()]
  let [responses, isStopping] = [0, false]
  let ticking: NodeJS.Timeout | undefined

  const isQueueFull = () => queue.size() >= MAX_QUEUED
  const resumeIntoQueue = () => {
    while (paused.size() > 0 && !isQueueFull()) queue.reserve(paused.resumeNext())
  }
  const fill = () => {
    queue.admit(inFlight.acquire)
    if (paused.size() > 0) resumeIntoQueue()
  }
  const tick = () => {
    const now = performance.now()
    queue.dropLateReservations()
    queue.refuseLate(now)
    queue.admit(inFlight.acquire)
    resumeIntoQueue()
    paused.resumeOlder(now - MAX_PAUSE_MS, MAX_RESUMED)
    for (let left = budget.read(responses); left >= 1 && paused.size() > 0; left--) paused.resumeNext()
    responses = 0
    if (queue.size() + paused.size() > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
  const startTicking = () => {
    budget.restart()
    responses = 0
    return setInterval(tick, TICK_MS)
  }
  return {
    isActive: () => ticking !== undefined,
    enter: (keyId, connection) => {
      const isInTurn = queue.useReservation(connection)
      const isBehind = !isInTurn && paused.has(keyId)
      if ((!isBehind || inFlight.isFew()) && inFlight.acquire(keyId)) return undefined
      if (!isInTurn && (isBehind || isQueueFull())) return false
      ticking ??= startTicking()
      const until = performance.now() + (isInTurn ? MAX_WAIT_IN_TURN_MS : MAX_WAIT_MS)
      return new Promise((settle) => queue.add({ keyId, until, connection, settle }))
    },
    countResponse: () => {
      responses += 1
      fill()
    },
    fill,
    isBehind: (keyId) => paused.has(keyId) && !inFlight.isFew(),
    pause: (keyId, connection) => {
      if (isStopping || connection.socket.destroyed) return
      paused.add(keyId, connection, performance.now())
      ticking ??= startTicking()
    },
    resumeAll: () => {
      isStopping = true
      paused.resumeOlder(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
    },
    close: () => clearInterval(ticking),
  }
}
