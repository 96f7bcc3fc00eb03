import { AppError, ERRORS, toErrorBody } from '../errors.ts'
import type { Exchange, Reply } from './exchange.ts'
import type { Overload } from './overload.ts'

/** Made once: an error with its stack for each refusal would cost more than the refusal. */
const OVERLOADED = new AppError('overloaded')
const HEADERS = [
  'content-type',
  'application/json; charset=utf-8',
  ...Object.entries(OVERLOADED.headers).flat(),
  'cache-control',
  'no-store',
]

/** Does the work when there is a place for it, else answers 503. To be called when the whole request has arrived. */
export function withPlace(
  overload: Overload,
  exchange: Exchange,
  work: () => Reply | Promise<Reply>,
): Reply | Promise<Reply> {
  const { caller, raw } = exchange
  const waiting = overload.enter(caller?.lineage ?? '', raw.socket)
  exchange.inFlight = waiting === undefined
  if (!waiting) return work()
  return waiting.then((admitted) => {
    exchange.inFlight = admitted
    return admitted ? work() : toRefusal(exchange)
  })
}

/** The place is free when the work is done, whether or not the caller is still there and reads the answer. */
export function leavePlace(overload: Overload, exchange: Exchange): void {
  if (exchange.inFlight) overload.leave(exchange.caller?.lineage ?? '')
  exchange.inFlight = false
}

function toRefusal(exchange: Exchange): Reply {
  exchange.outcome = 'overloaded'
  const body = JSON.stringify(toErrorBody(OVERLOADED, exchange.id))
  return { status: ERRORS.overloaded.status, headers: HEADERS, body }
}
