import type { Context } from '../context.ts'
import { AppError } from '../errors.ts'
import type { Exchange } from './exchange.ts'

/** Counts a request in, and writes its line and its metrics when it is answered or given up. */
export const createBegin =
  (context: Context) =>
  (exchange: Exchange): void => {
    exchange.response.on('close', () => finishRequest(context, exchange))
    // Whoever watches our health must not be turned away because we are busy.
    if (exchange.path.startsWith('/health/')) return
    if (!context.overload.enter()) throw new AppError('overloaded')
    exchange.inFlight = true
  }

function finishRequest({ log, metrics, overload, latencies }: Context, exchange: Exchange): void {
  const { operation, caller, startedAt, inFlight, response, raw } = exchange
  const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
  const mode = caller?.mode ?? 'none'
  if (inFlight) overload.leave()
  // A caller that went away, or whose body never came, was told nothing. (A request without a socket has no `complete`.)
  const isAnswered = response.writableFinished || raw.complete === undefined
  const outcome = isAnswered ? exchange.outcome : 'aborted'
  const status = isAnswered ? response.statusCode : 0
  metrics.countRequest(operation, mode, outcome, durationMs)
  if (caller && isAnswered && operation.startsWith('verify_')) latencies.count(mode, durationMs)
  log.request({
    requestId: exchange.id,
    operation,
    mode,
    keyId: caller?.keyId ?? '',
    status,
    outcome,
    durationMs,
  })
}
