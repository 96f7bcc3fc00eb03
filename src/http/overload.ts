import type { Config } from '../config/config.ts'
import { watchLag } from './lag.ts'
import { createPaused, type Pausable } from './paused.ts'
import { createPlaces, type InFlightLimits } from './places.ts'
import { createSeats } from './seats.ts'
import { createSpareTime } from './spare-time.ts'
import { createWaiting } from './waiting.ts'

/**
 * Bounds the requests under way. A request that finds no place waits in a short line, or is refused at once when the line
 * is full. The connection of a refused request is paused: what its caller sends next stays unread until its turn comes,
 * and is served then. So each caller costs one refusal for each answer, however fast it asks again.
 */
export type Overload = {
  /** Undefined: it may begin. Otherwise whether it may begin, or a promise of that where it waits. */
  readonly enter: (keyId: string, connection?: Pausable) => undefined | boolean | Promise<boolean>
  /** Due once for every request that was let in. */
  readonly leave: (keyId: string) => void
  /** To be called when a refusal was sent. */
  readonly pause: (keyId: string, connection: Pausable) => void
  /** Reads all connections again, and pauses none from now on: the server stops. */
  readonly resumeAll: () => void
  readonly close: () => void
}

/** What one key may take unless the operator says otherwise: most of it, and never all. */
const SHARE_OF_KEY = 0.8

export const toInFlightLimits = ({
  maxInFlight: all,
  maxInFlightPerKey: perKey = Math.ceil(all * SHARE_OF_KEY),
}: Pick<Config, 'maxInFlight' | 'maxInFlightPerKey'>): InFlightLimits => ({ all, perKey })

/** The line is as long as what is answered in some 15 ms. Connections that were just resumed hold a seat in it. */
const SEATS = 64
/** With fewer under way, a request begins whatever the event loop and the connections do. */
const FEW = 16
const MOST_WAIT_MS = 30
/** For a request that waited unread before. */
const MOST_WAIT_IN_TURN_MS = 1000
const MOST_PAUSE_MS = 1500
const TICK_MS = 10

export function createOverload(limits: InFlightLimits): Overload {
  const { lag, places, takePlace, waiting, seats, paused, spareTime } = createParts(limits)
  let [answered, isStopping] = [0, false]
  let ticking: NodeJS.Timeout | undefined

  const isLineFull = () => waiting.size() + seats.size() >= SEATS
  const fillSeats = () => {
    while (paused.size() > 0 && !isLineFull()) seats.give(paused.resume())
  }
  const tick = () => {
    const now = performance.now()
    seats.tick()
    waiting.refuseLate(now)
    waiting.admit(takePlace)
    fillSeats()
    paused.resumeOld(now - MOST_PAUSE_MS)
    for (let left = spareTime.read(answered); left >= 1 && paused.size() > 0; left--) paused.resume()
    answered = 0
    if (waiting.size() + seats.size() + paused.size() > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
  const startTicking = () => {
    spareTime.restart()
    answered = 0
    return setInterval(tick, TICK_MS)
  }
  return {
    enter: (keyId, connection) => {
      const isInTurn = seats.take(connection)
      const isBehind = !isInTurn && paused.has(keyId)
      if ((!isBehind || places.underWay() < FEW) && takePlace(keyId)) return undefined
      if (!isInTurn && (isBehind || isLineFull())) return false
      ticking ??= startTicking()
      const until = performance.now() + (isInTurn ? MOST_WAIT_IN_TURN_MS : MOST_WAIT_MS)
      return new Promise((settle) => waiting.add({ keyId, until, connection, settle }))
    },
    leave: (keyId) => {
      places.leave(keyId)
      answered += 1
      if (waiting.size() > 0) waiting.admit(takePlace)
      if (paused.size() > 0) fillSeats()
    },
    pause: (keyId, connection) => {
      if (isStopping || connection.socket.destroyed) return
      paused.add(keyId, connection, performance.now())
      ticking ??= startTicking()
    },
    resumeAll: () => {
      isStopping = true
      paused.resumeOld(Number.POSITIVE_INFINITY)
    },
    close: () => {
      lag.close()
      clearInterval(ticking)
    },
  }
}

function createParts(limits: InFlightLimits) {
  const lag = watchLag()
  const places = createPlaces(limits)
  const takePlace = (keyId: string) => {
    if (places.underWay() >= FEW && lag.isTooLong()) return false
    return places.take(keyId)
  }
  const [waiting, seats, paused, spareTime] = [
    createWaiting(),
    createSeats(),
    createPaused(),
    createSpareTime(),
  ]
  return { lag, places, takePlace, waiting, seats, paused, spareTime }
}
