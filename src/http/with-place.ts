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
  const { caller, connection } = exchange
  const begin = (admitted: boolean) => {
    exchange.inFlight = admitted
    return admitted ? work() : toRefusal(exchange)
  }
  const entered = overload.enter(caller?.lineage ?? '', connection) ?? true
  return typeof entered === 'boolean' ? begin(entered) : entered.then(begin)
}

/** The place is free when the work is done, whether or not the caller is still there and reads the answer. */
export function leavePlace(overload: Overload, exchange: Exchange): void {
  if (exchange.inFlight) overload.leave(exchange.caller?.lineage ?? '')
  exchange.inFlight = false
}

/** To be called when the answer is sent. */
export function pauseRefused(overload: Overload, { outcome, connection, caller }: Exchange): void {
  if (outcome === 'overloaded' && connection?.underWay === 0)
    overload.pause(caller?.lineage ?? '', connection)
}

function toRefusal(exchange: Exchange): Reply {
  exchange.outcome = 'overloaded'
  const body = JSON.stringify(toErrorBody(OVERLOADED, exchange.id))
  return { status: ERRORS.overloaded.status, headers: HEADERS, body }
}
