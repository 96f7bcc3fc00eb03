import { AppError, ERRORS, toErrorBody } from '../errors.ts'
import type { Place } from '../verification/verification-request.ts'
import type { Connection } from './connections.ts'
import type { Exchange, Reply } from './exchange.ts'
import { createInFlight, createOverload, type InFlightLimits, type Pausable } from './overload.ts'
import type { HttpSettings } from './settings.ts'

/** Bounds the requests in flight. For requests above the limit, see overload.ts. */
export type Admission = {
  /** Undefined: the request may begin. False: it is refused. A promise of whether it may begin, while it is queued. */
  readonly enter: (keyId: string, connection?: Pausable) => undefined | false | Promise<boolean>
  /** To be called once for every request that was admitted. */
  readonly leave: (keyId: string) => void
  /** Whether one more request of the key may wait. To be ended once with `endWait`. */
  readonly reserveWait: (keyId: string) => boolean
  readonly endWait: (keyId: string) => void
  /** A request that was admitted only waits from now on. */
  readonly stepAside: (keyId: string) => void
  /** It works again. It is never refused: what it waited for may have been paid for. */
  readonly stepBack: (keyId: string) => void
  /** The requests in flight, and those that only wait. */
  readonly count: () => number
  /** To be called with the first bytes of a request, before they are parsed. The connection may be paused then. */
  readonly hold: (connection: Connection, bytes: Buffer) => void
  /** To be called when a refusal was sent. */
  readonly pause: (keyId: string, connection: Pausable) => void
  /** The server stops: reads all connections again, and pauses no more. */
  readonly resumeAll: () => void
  readonly close: () => void
}

/** One key may take most of the limit unless the operator says otherwise, and never all. */
const SHARE_OF_KEY = 0.8

/** Of the admission of a test. */
const MAX_WAITING = 10_000

/** A limit of a key that the operator has set holds for all nodes together. */
export const toInFlightLimits = (
  { maxInFlight: all, maxInFlightPerKey }: Pick<HttpSettings, 'maxInFlight' | 'maxInFlightPerKey'>,
  countNodes: () => number,
): InFlightLimits =>
  maxInFlightPerKey === undefined
    ? { all, perKey: Math.ceil(all * SHARE_OF_KEY) }
    : { all, perKey: maxInFlightPerKey, countNodes }

export function createAdmission(limits: InFlightLimits, maxWaiting = MAX_WAITING): Admission {
  const inFlight = createInFlight(limits)
  const overload = createOverload(inFlight)
  const waiting = createWaiting(maxWaiting)
  let aside = 0
  /**
   * A request that would be refused because others of its key wait is not read until its turn comes: to parse and to refuse it
   * costs nearly as much as to answer it. A proxy may send requests of several keys on one connection, so its bytes are looked at.
   */
  const holdBehind = (connection: Connection, bytes: Buffer) => {
    const { caller, hasTurn } = connection
    if (hasTurn || !caller || !overload.isBehind(caller.lineage)) return
    if (bytes.includes(caller.authorization, 0, 'latin1')) overload.pause(caller.lineage, connection)
  }
  return {
    enter: (keyId, connection) =>
      !overload.isActive() && inFlight.acquire(keyId) ? undefined : overload.enter(keyId, connection),
    leave: (keyId) => {
      inFlight.release(keyId)
      if (overload.isActive()) overload.countResponse()
    },
    reserveWait: waiting.reserve,
    endWait: waiting.release,
    stepAside: (keyId) => {
      aside += 1
      inFlight.release(keyId)
      if (overload.isActive()) overload.fill()
    },
    stepBack: (keyId) => {
      aside -= 1
      inFlight.take(keyId)
    },
    count: () => inFlight.count() + aside,
    hold: (connection, bytes) => overload.isActive() && holdBehind(connection, bytes),
    pause: overload.pause,
    resumeAll: overload.resumeAll,
    close: () => {
      inFlight.close()
      overload.close()
    },
  }
}

/** Does the work when the in-flight limit allows it, else answers 503. To be called when the whole request has arrived. */
export function withAdmission<Input>(
  admission: Admission,
  exchange: Exchange,
  work: (exchange: Exchange, input: Input) => Reply | Promise<Reply>,
  input: Input,
): Reply | Promise<Reply> {
  const entered = admission.enter(toKeyId(exchange), exchange.connection)
  if (entered === undefined) return begin(admission, exchange, work, input)
  if (entered === false) return toRefusal(exchange)
  return entered.then((admitted) =>
    admitted ? begin(admission, exchange, work, input) : toRefusal(exchange),
  )
}

function begin<Input>(
  admission: Admission,
  exchange: Exchange,
  work: (exchange: Exchange, input: Input) => Reply | Promise<Reply>,
  input: Input,
): Reply | Promise<Reply> {
  exchange.inFlight = true
  exchange.place = new RequestPlace(admission, exchange)
  const reply = work(exchange, input)
  return reply instanceof Promise && exchange.storeBudget ? exchange.storeBudget.limit(reply) : reply
}

/** A class, so that a look-up, which never waits, does not pay for closures. */
class RequestPlace implements Place {
  readonly #admission: Admission
  readonly #exchange: Exchange

  constructor(admission: Admission, exchange: Exchange) {
    this.#admission = admission
    this.#exchange = exchange
  }

  mayWait(): boolean {
    this.#exchange.mayWait ||= this.#admission.reserveWait(toKeyId(this.#exchange))
    return this.#exchange.mayWait
  }

  whileWaiting<T>(work: () => Promise<T>): Promise<T> {
    const { storeBudget } = this.#exchange
    const wait = () => waitAside(this.#admission, this.#exchange, work)
    return storeBudget ? storeBudget.pause(wait) : wait()
  }

  /** Called without its object: see ask.ts. */
  readonly beforePaying = <T>(work: () => Promise<T>): Promise<T> => {
    const { storeBudget } = this.#exchange
    return storeBudget ? storeBudget.beforePaying(work) : work()
  }

  spare(work: Promise<void>): Promise<void> {
    return this.#exchange.storeBudget?.spare(work) ?? work
  }
}

async function waitAside<T>(admission: Admission, exchange: Exchange, work: () => Promise<T>): Promise<T> {
  const keyId = toKeyId(exchange)
  admission.stepAside(keyId)
  exchange.inFlight = false
  try {
    return await work()
  } finally {
    admission.stepBack(keyId)
    exchange.inFlight = true
  }
}

const toKeyId = ({ caller }: Exchange) => caller?.lineage ?? ''

/** To be called when the work is done, whether or not the caller still waits for the response. */
export function endAdmission(admission: Admission, exchange: Exchange): void {
  if (exchange.inFlight) admission.leave(toKeyId(exchange))
  if (exchange.mayWait) admission.endWait(toKeyId(exchange))
  exchange.inFlight = false
  exchange.mayWait = false
}

/** To be called when the response is sent. */
export function pauseRefused(admission: Admission, { outcome, connection, caller }: Exchange): void {
  if (outcome === 'overloaded' && connection?.pending === 0)
    admission.pause(caller?.lineage ?? '', connection)
}

/** Made once: an error with its stack for each refusal would cost more than the refusal. */
const OVERLOADED = new AppError('overloaded')
const HEADERS = [
  'content-type',
  'application/json; charset=utf-8',
  ...Object.entries(OVERLOADED.headers).flat(),
  'cache-control',
  'no-store',
]

function toRefusal(exchange: Exchange): Reply {
  exchange.outcome = 'overloaded'
  const body = JSON.stringify(toErrorBody(OVERLOADED, exchange.id))
  return { status: ERRORS.overloaded.status, headers: HEADERS, body }
}

/** The requests that may wait for someone else: a vendor, the answer of a pending verification, the rest of a body. */
type Waiting = {
  /** False when too many wait. */
  readonly reserve: (keyId: string) => boolean
  readonly release: (keyId: string) => void
}

/**
 * A key may have as many as are free: one key alone has half of all, two a third each. So some are free for another key, however
 * many keys wait.
 */
export function createWaiting(max: number): Waiting {
  const byKey = new Map<string, number>()
  let total = 0
  return {
    reserve: (keyId) => {
      const count = byKey.get(keyId) ?? 0
      if (count >= max - total) return false
      byKey.set(keyId, count + 1)
      total += 1
      return true
    },
    release: (keyId) => {
      const count = (byKey.get(keyId) ?? 1) - 1
      if (count > 0) byKey.set(keyId, count)
      else byKey.delete(keyId)
      total -= 1
    },
  }
}
