import type { Socket } from 'node:net'
import type { Reading } from './connections.ts'

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
  /** Reads connections again that were paused before that time, `max` at most. Keys take turns. */
  readonly resumeOlder: (before: number, max: number) => void
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
    resumeOlder: (before, max) => {
      for (let left = max, found = true; left > 0 && found; ) {
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
function createAdmissionQueue() {
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

/** Refusals in a tick where the event loop is idle, and how many refusals cost as much as one response. */
const MAX_REFUSALS = 100
const REFUSALS_PER_RESPONSE = 5
/** Responses come in bursts, so the mean of the last ticks counts. */
const MEAN_TICKS = 8

/**
 * How many requests may be refused in the time that the responses leave. It is large when the requests in flight wait for a
 * slow source, and zero when the processor is busy with responses.
 */
function createRefusalBudget() {
  let loop = performance.eventLoopUtilization()
  let meanResponses = 0
  return {
    restart: () => {
      loop = performance.eventLoopUtilization()
    },
    /** `responses` is their count since the last call. */
    read: (responses: number) => {
      const before = loop
      loop = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(loop, before)
      meanResponses += (responses - meanResponses) / MEAN_TICKS
      return MAX_REFUSALS * (1 - utilization) - REFUSALS_PER_RESPONSE * meanResponses
    },
  }
}

/** The requests in flight: in all, and of each key. */
type InFlight = {
  /** So few that a request begins whatever the event loop and the paused connections say. */
  readonly isFew: () => boolean
  readonly count: () => number
  /** False when a limit is reached, or the event loop was blocked. */
  readonly acquire: (keyId: string) => boolean
  /** Above the limits if need be. */
  readonly take: (keyId: string) => void
  readonly release: (keyId: string) => void
  readonly close: () => void
}

export type InFlightLimits = {
  readonly all: number
  readonly perKey: number
  /** Nodes that share the limit of a key. Each has an equal part, at least 1. Absent: it is the limit of this process. */
  readonly countNodes?: () => number
}

const FEW = 16
/** Above this, keys without a request in flight are dropped from the map. */
const MAX_KEYS = 10_000
const LAG_TICK_MS = 250
const MAX_LAG_MS = 1000

export function createInFlight({ all, perKey, countNodes = () => 1 }: InFlightLimits): InFlight {
  const byKey = new Map<string, number>()
  const lag = watchEventLoopLag()
  let total = 0
  const isKeyFull = (count: number) => count > 0 && count >= Math.floor(perKey / countNodes())
  const take = (keyId: string) => {
    if (byKey.size >= MAX_KEYS) dropIdleKeys()
    total += 1
    byKey.set(keyId, (byKey.get(keyId) ?? 0) + 1)
  }
  const dropIdleKeys = () => {
    for (const [keyId, count] of byKey) if (count === 0) byKey.delete(keyId)
  }
  return {
    isFew: () => total < FEW,
    count: () => total,
    acquire: (keyId) => {
      const count = byKey.get(keyId) ?? 0
      if (total >= all || isKeyFull(count) || (total >= FEW && lag.isTooLong())) return false
      take(keyId)
      return true
    },
    take,
    release: (keyId) => {
      total -= 1
      byKey.set(keyId, (byKey.get(keyId) ?? 1) - 1)
    },
    close: lag.close,
  }
}

/** Below this share of processor time, the thread was stopped and not busy: that is no load. */
const MIN_BUSY = 0.1

/** A timer that fires late shows how long the event loop was blocked. */
function watchEventLoopLag() {
  let lagMs = 0
  let expected = performance.now() + LAG_TICK_MS
  let cpu = process.threadCpuUsage()
  const timer = setInterval(() => {
    const now = performance.now()
    const { user, system } = process.threadCpuUsage(cpu)
    const lateMs = Math.max(0, now - expected)
    lagMs = (user + system) / 1000 < lateMs * MIN_BUSY ? 0 : lateMs
    expected = now + LAG_TICK_MS
    cpu = process.threadCpuUsage()
  }, LAG_TICK_MS).unref()
  return { isTooLong: () => lagMs > MAX_LAG_MS, close: () => clearInterval(timer) }
}
