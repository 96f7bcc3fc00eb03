import type { Context } from '../context/context.ts'
import type { Log } from '../telemetry/log.ts'
import type { Exchange } from './exchange.ts'

/** Writes the line and the metrics of a request that is answered or given up. */
export const createFinish = (context: Context) => {
  const countRefusal = createRefusalCount(context.log)
  return (exchange: Exchange): void => finishRequest(context, exchange, countRefusal)
}

function finishRequest(
  { log, metrics, latencies }: Context,
  exchange: Exchange,
  countRefusal: () => void,
): void {
  const { operation, caller, startedAt, response, raw } = exchange
  const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
  const mode = caller?.mode ?? 'none'
  // A caller that went away, or whose body never came, was told nothing. (A request without a socket has no `complete`.)
  const isAnswered = response.writableFinished || raw.complete === undefined
  const outcome = isAnswered ? exchange.outcome : 'aborted'
  const status = isAnswered ? response.statusCode : 0
  metrics.countRequest(operation, mode, outcome, durationMs)
  if (outcome === 'overloaded') {
    countRefusal()
    return
  }
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

const LOG_EVERY_MS = 1000

/** Refusals under overload share one line a second: a line each would add to the load. */
function createRefusalCount(log: Log): () => void {
  let requests = 0
  const tell = () => {
    log.event('warn', 'overloaded', { requests })
    requests = 0
  }
  return () => {
    if (requests === 0) setTimeout(tell, LOG_EVERY_MS).unref()
    requests += 1
  }
}
