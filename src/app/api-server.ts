import type { Context } from '../context/context.ts'
import { AppError } from '../errors.ts'
import { createAccessLog } from '../http/access-log.ts'
import { type Admission, createAdmission, toInFlightLimits } from '../http/admission.ts'
import { type App, createApp } from '../http/app.ts'
import { hasBody } from '../http/body.ts'
import { toConnectionLimits } from '../http/connection-limits.ts'
import { createToErrorReply } from '../http/error-reply.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import { createGuard } from '../http/guard.ts'
import { addHealth } from '../http/health.ts'
import { createReadInput } from '../http/input.ts'
import { addMedia } from '../http/media.ts'
import { createToOrigin } from '../http/origin.ts'
import { endAdmission, pauseRefused, withAdmission } from '../http/with-admission.ts'
import { Document } from '../operations/document.ts'
import type { Operation } from '../operations/operation.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { addDocs } from '../reference/docs-routes.ts'
import type { VerificationResponse } from '../verification/replay.ts'

/** The listener of the API, with its in-flight limit. */
export type ApiServer = App & { readonly admission: Admission }

export function createApiServer(
  context: Context,
  admission: Admission = createAdmission(toInFlightLimits(context.config)),
): ApiServer {
  const { log, audit, lifecycle } = context
  const guard = createGuard(context)
  const accessLog = createAccessLog(context)
  const app = createApp(
    {
      authorize: (exchange, { operation, scope }) => {
        exchange.operation = operation
        return scope && guard(exchange, scope)
      },
      // A damaged database ends the process; a lost one makes it not ready.
      toErrorReply: createToErrorReply(log, audit.reportFailure.bind(audit)),
      onWorkDone: (exchange) => endAdmission(admission, exchange),
      onClose: (exchange) => {
        accessLog.finish(exchange)
        pauseRefused(admission, exchange)
      },
      onBrokenRequest: accessLog.countBroken,
      isStopping: () => lifecycle.stopping,
    },
    toConnectionLimits(context.config, 'api'),
  )
  for (const operation of OPERATIONS) addOperation(app, context, admission, operation)
  addHealth(app, context)
  addMedia(app, context, admission)
  addDocs(app, context.config)
  const close = async () => {
    admission.close()
    await app.close()
  }
  return { ...app, close, admission }
}

function addOperation(app: App, context: Context, admission: Admission, operation: Operation): void {
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
    // Without a body to read, no promise is made: it would cost more than the response.
    answer: (exchange) => {
      const input = readInput(exchange)
      const begin = (read: Record<string, string>) =>
        withAdmission(admission, exchange, () => run(exchange, read))
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
  if (document.isCurrent(headers['if-none-match']))
    return { status: 304, headers: document.headers, body: '' }
  return { status: 200, headers: document.headers, body: document.bytes }
}
