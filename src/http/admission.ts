import type { Config } from '../config/config.ts'
import { AppError, ERRORS, toErrorBody } from '../errors.ts'
import type { Exchange, Reply } from './exchange.ts'
import { createInFlight, type InFlightLimits } from './in-flight.ts'
import { createOverload } from './overload.ts'
import type { Pausable } from './paused-connections.ts'

/** Bounds the requests in flight. For requests above the limit, see overload.ts. */
export type Admission = {
  /** Undefined: the request may begin. False: it is refused. A promise of whether it may begin, while it is queued. */
  readonly enter: (keyId: string, connection?: Pausable) => undefined | false | Promise<boolean>
  /** To be called once for every request that was admitted. */
  readonly leave: (keyId: string) => void
  /** The requests in flight. */
  readonly count: () => number
  /** To be called when a refusal was sent. */
  readonly pause: (keyId: string, connection: Pausable) => void
  /** The server stops: reads all connections again, and pauses no more. */
  readonly resumeAll: () => void
  readonly close: () => void
}

/** One key may take most of the limit unless the operator says otherwise, and never all. */
const SHARE_OF_KEY = 0.8

/** A limit of a key that the operator has set holds for all nodes together. */
export const toInFlightLimits = (
  { maxInFlight: all, maxInFlightPerKey }: Pick<Config, 'maxInFlight' | 'maxInFlightPerKey'>,
  countNodes: () => number,
): InFlightLimits =>
  maxInFlightPerKey === undefined
    ? { all, perKey: Math.ceil(all * SHARE_OF_KEY) }
    : { all, perKey: maxInFlightPerKey, countNodes }

export function createAdmission(limits: InFlightLimits): Admission {
  const inFlight = createInFlight(limits)
  const overload = createOverload(inFlight)
  return {
    enter: (keyId, connection) =>
      !overload.isActive() && inFlight.acquire(keyId) ? undefined : overload.enter(keyId, connection),
    leave: (keyId) => {
      inFlight.release(keyId)
      if (overload.isActive()) overload.countResponse()
    },
    count: inFlight.count,
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
  const entered = admission.enter(exchange.caller?.lineage ?? '', exchange.connection)
  if (entered === undefined) {
    exchange.inFlight = true
    return work(exchange, input)
  }
  if (entered === false) return toRefusal(exchange)
  return entered.then((admitted) => {
    exchange.inFlight = admitted
    return admitted ? work(exchange, input) : toRefusal(exchange)
  })
}

/** To be called when the work is done, whether or not the caller still waits for the response. */
export function endAdmission(admission: Admission, exchange: Exchange): void {
  if (exchange.inFlight) admission.leave(exchange.caller?.lineage ?? '')
  exchange.inFlight = false
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
