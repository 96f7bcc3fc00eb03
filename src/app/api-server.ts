import type { Context } from '../context/context.ts'
import { AppError } from '../errors.ts'
import { createFinish } from '../http/access-log.ts'
import { type App, createApp, type Hooks } from '../http/app.ts'
import { hasBody } from '../http/body.ts'
import { toConnectionLimits } from '../http/connection-limits.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import { createFail } from '../http/failures.ts'
import { createGuard } from '../http/guard.ts'
import { addHealth } from '../http/health.ts'
import { createReadInput } from '../http/input.ts'
import { addMedia } from '../http/media.ts'
import { createToOrigin } from '../http/origin.ts'
import { createOverload, type Overload, toInFlightLimits } from '../http/overload.ts'
import { leavePlace, pauseRefused, withPlace } from '../http/with-place.ts'
import { Document } from '../operations/document.ts'
import type { Operation } from '../operations/operation.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { addDocs } from '../reference/docs-routes.ts'
import type { VerificationResponse } from '../verification/verify.ts'

/** The listener of the API, and the gate that bounds its requests under way. */
export type ApiServer = App & { readonly overload: Overload }

export function buildServer(
  context: Context,
  overload: Overload = createOverload(toInFlightLimits(context.config)),
): ApiServer {
  const { log, audit, lifecycle } = context
  const guard = createGuard(context)
  const finish = createFinish(context)
  const care: Hooks = {
    begin: () => {},
    admit: (exchange, { operation, scope }) => {
      exchange.operation = operation
      return scope && guard(exchange, scope)
    },
    // A damaged database that is met anywhere ends the process; a lost one makes it not ready.
    fail: createFail(log, audit.reportFailure.bind(audit)),
    settled: (exchange) => leavePlace(overload, exchange),
    closed: (exchange) => {
      finish(exchange)
      pauseRefused(overload, exchange)
    },
    // Decided as late as can be: a request that was accepted before the signal to stop ends its connection, too.
    isLast: () => lifecycle.stopping,
  }
  const app = createApp(care, toConnectionLimits(context.config, 'api'))
  for (const operation of OPERATIONS) addOperation(app, context, overload, operation)
  addHealth(app, context)
  addMedia(app, context, overload)
  addDocs(app, context.config)
  const close = async () => {
    overload.close()
    await app.close()
  }
  return { ...app, close, overload }
}

function addOperation(app: App, context: Context, overload: Overload, operation: Operation): void {
  const { name, method, path, scope, inputFrom } = operation
  const readInput = createReadInput(operation)
  const toOrigin = createToOrigin(context.config)
  const run = (exchange: Exchange, input: Record<string, string>): Reply | Promise<Reply> => {
    const { caller, id: requestId, headers, person } = exchange
    if (!caller) throw new AppError('unauthenticated')
    const origin = toOrigin(exchange) ?? ''
    const answer = operation.run(context, { input, caller, requestId, headers, origin, person })
    return answer instanceof Promise
      ? answer.then((ready) => toReply(exchange, ready))
      : toReply(exchange, answer)
  }
  app.route({
    methods: inputFrom === 'body or query' ? [method, 'QUERY'] : [method],
    path,
    operation: name,
    scope,
    // What is there already is answered at once: a promise for it would cost more than the answer.
    answer: (exchange) => {
      const input = readInput(exchange)
      const begin = (read: Record<string, string>) => withPlace(overload, exchange, () => run(exchange, read))
      return input instanceof Promise ? input.then(begin) : begin(input)
    },
  })
}

const toReply = (exchange: Exchange, answer: Document | VerificationResponse) =>
  answer instanceof Document ? toDocumentReply(exchange, answer) : toFinishedReply(exchange, answer)

const FINISHED = ['cache-control', 'no-store', 'content-type', 'application/json; charset=utf-8']
const REPLAYED = [...FINISHED, 'idempotent-replayed', 'true']

function toFinishedReply(
  exchange: Exchange,
  { status, body, outcome, replayed }: VerificationResponse,
): Reply {
  exchange.outcome = outcome
  return { status, headers: replayed ? REPLAYED : FINISHED, body }
}

/** Cacheable by the caller alone; an answer to a body is not, because a cache would mix products up. */
function toDocumentReply({ raw, headers }: Exchange, document: Document): Reply {
  if (hasBody(raw)) return { status: 200, headers: FINISHED, body: document.bytes }
  if (document.isKnownTo(headers['if-none-match']))
    return { status: 304, headers: document.headers, body: '' }
  return { status: 200, headers: document.headers, body: document.bytes }
}
