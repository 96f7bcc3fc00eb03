import type { Keyring } from '../crypto/keyring.ts'
import { ERRORS, type ErrorCode } from '../errors.ts'
import type { Authenticate } from '../keys/authenticate.ts'
import type { RequestLog } from '../requests/request-log.ts'
import { toStoredId } from '../requests/request-log.ts'
import type { Answers } from '../statistics/answers.ts'
import type { Latencies } from '../statistics/counters.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metric.ts'
import type { Exchange } from './exchange.ts'

/** Writes one log line for each request, counts it in the metrics, and ends its trace. */
type AccessLog = {
  /** To be called when the response is sent, or the caller has closed the connection. */
  readonly finish: (exchange: Exchange) => void
  /** For bytes that never became a request. */
  readonly countBroken: (requestId: string, code: ErrorCode) => void
}

type AccessLogDeps = {
  readonly log: Log
  readonly metrics: Pick<Metrics, 'countRequest' | 'countKey'>
  readonly latencies: Latencies
  readonly answers: Pick<Answers, 'count'>
}

/** `keylessMode` is the mode of requests without a key: the admin listener has its own word. */
export function createAccessLog(
  { log, metrics, latencies, answers }: AccessLogDeps,
  keylessMode = 'none',
  record?: RecordRequest,
): AccessLog {
  const countRefusal = createRefusalCount(log)
  /** Under the mode of its key, also of one that was revoked or has expired. */
  const countAnswer = ({ operation, unusableKey }: Exchange, mode: string, outcome: string) => {
    if (operation.startsWith('verify_') && mode !== 'admin') answers.count(unusableKey?.mode ?? mode, outcome)
  }
  return {
    finish: (exchange) => {
      const { id: requestId, isOwnId, operation, caller, trace, startedAt, response } = exchange
      const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
      // A caller that disconnected, or whose body never came, got no response.
      const isAnswered = response.writableFinished
      const outcome = isAnswered ? exchange.outcome : 'aborted'
      const status = isAnswered ? response.statusCode : 0
      const mode = caller?.mode ?? keylessMode
      metrics.countRequest(operation, mode, outcome, durationMs)
      if (caller) metrics.countKey(caller.keyId, outcome)
      countAnswer(exchange, mode, outcome)
      record?.(exchange, { status, outcome, durationMs })
      trace?.end({ mode, outcome, status })
      if (outcome === 'overloaded') return countRefusal()
      if (caller && isAnswered && operation.startsWith('verify_')) latencies.count(caller.mode, durationMs)
      const keyId = caller?.keyId ?? ''
      const traceId = trace?.traceId
      log.request({ requestId, isOwnId, operation, mode, keyId, status, outcome, durationMs, traceId })
    },
    countBroken: (requestId, code) => {
      const { status } = ERRORS[code]
      const [operation, mode, durationMs, isOwnId] = ['unknown', keylessMode, 0, true] as const
      metrics.countRequest(operation, mode, code, durationMs)
      log.request({ requestId, isOwnId, operation, mode, keyId: '', status, outcome: code, durationMs })
    },
  }
}

const LOG_EVERY_MS = 1000

/** Refusals under overload share one line a second: a line each would add to the load. */
function createRefusalCount(log: Log): () => void {
  let requests = 0
  const writeCount = () => {
    log.event('warn', 'overloaded', { requests })
    requests = 0
  }
  return () => {
    if (requests === 0) setTimeout(writeCount, LOG_EVERY_MS).unref()
    requests += 1
  }
}

type Finished = { readonly status: number; readonly outcome: string; readonly durationMs: number }

/** Adds a request to the request log. Undefined: the log is off. */
type RecordRequest = (exchange: Exchange, finished: Finished) => void

/** The key of a request, also of one that was refused because the key is revoked or has expired. */
type KeyOfRequest = { readonly keyId: string; readonly mode: string }

/** Look-ups of keys under way whose requests were answered before. Beyond this, a request is counted without its key. */
const MAX_LOOKUPS = 100

type RecordDeps = {
  readonly requests: RequestLog | undefined
  readonly keyring: () => Keyring
  readonly authenticate: Authenticate
}

export function createRecordRequest({
  requests,
  keyring,
  authenticate,
}: RecordDeps): RecordRequest | undefined {
  if (!requests) return undefined
  const idKey = keyring()['request-id']
  let lookups = 0

  const add = (exchange: Exchange, key: KeyOfRequest, { status, outcome, durationMs }: Finished) => {
    const { id, isOwnId, reference, operation, raw, wrongFields } = exchange
    requests.add({
      requestId: isOwnId ? id : toStoredId(idKey, id),
      reference,
      keyId: key.keyId,
      mode: key.mode,
      operation,
      method: raw.method ?? '',
      status,
      code: outcome,
      durationMs,
      fields: wrongFields,
    })
  }
  /** A path that no route has was answered without looking at the key. */
  const findKey = async (exchange: Exchange): Promise<KeyOfRequest | undefined> => {
    const caller = await authenticate(exchange.headers.authorization, exchange)
    return caller ?? exchange.unusableKey
  }
  const addLater = async (exchange: Exchange, finished: Finished) => {
    lookups += 1
    const key = await findKey(exchange).catch(() => undefined)
    lookups -= 1
    if (key) add(exchange, key, finished)
    else requests.countKeyless(finished.status)
  }
  return (exchange, finished) => {
    const key = exchange.caller ?? exchange.unusableKey
    if (key) add(exchange, key, finished)
    else if (isUnrouted(exchange) && lookups < MAX_LOOKUPS) requests.addLater(addLater(exchange, finished))
    else requests.countKeyless(finished.status)
  }
}

const isUnrouted = ({ operation, headers }: Exchange) =>
  operation === 'unknown' && headers.authorization !== undefined
