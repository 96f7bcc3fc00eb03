import { AppError, ERRORS, toErrorBody } from '../errors.ts'
import type { Admission } from './admission.ts'
import type { Exchange, Reply } from './exchange.ts'

/** Made once: an error with its stack for each refusal would cost more than the refusal. */
const OVERLOADED = new AppError('overloaded')
const HEADERS = [
  'content-type',
  'application/json; charset=utf-8',
  ...Object.entries(OVERLOADED.headers).flat(),
  'cache-control',
  'no-store',
]

/** Does the work when the in-flight limit allows it, else answers 503. To be called when the whole request has arrived. */
export function withAdmission(
  admission: Admission,
  exchange: Exchange,
  work: () => Reply | Promise<Reply>,
): Reply | Promise<Reply> {
  const { caller, connection } = exchange
  const begin = (admitted: boolean) => {
    exchange.inFlight = admitted
    return admitted ? work() : toRefusal(exchange)
  }
  const entered = admission.enter(caller?.lineage ?? '', connection) ?? true
  return typeof entered === 'boolean' ? begin(entered) : entered.then(begin)
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

function toRefusal(exchange: Exchange): Reply {
  exchange.outcome = 'overloaded'
  const body = JSON.stringify(toErrorBody(OVERLOADED, exchange.id))
  return { status: ERRORS.overloaded.status, headers: HEADERS, body }
}
