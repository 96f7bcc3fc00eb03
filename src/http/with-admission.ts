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

function toRefusal(exchange: Exchange): Reply {
  exchange.outcome = 'overloaded'
  const body = JSON.stringify(toErrorBody(OVERLOADED, exchange.id))
  return { status: ERRORS.overloaded.status, headers: HEADERS, body }
}
