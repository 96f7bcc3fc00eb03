import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Context } from '../context/context.ts'
import { AppError } from '../errors.ts'
import { createToOrigin } from '../http/address.ts'
import { type Admission, withAdmission } from '../http/admission.ts'
import type { App } from '../http/app.ts'
import { hasBody } from '../http/body.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import { createWithInput } from '../http/input.ts'
import type { Route } from '../http/router.ts'
import { Document } from '../operations/document.ts'
import type { Operation, ResourceOperation } from '../operations/operation.ts'
import { FINISHED, toVerificationReply } from '../operations/verification-reply.ts'
import type { VerificationResponse } from '../verification/replay.ts'

type Input = Record<string, string>

/** Adds the route of an operation to the listener. */
export function addOperation(app: App, context: Context, admission: Admission, operation: Operation): void {
  const { name, method, path, scope, inputFrom } = operation
  const toOrigin = createToOrigin(context.config)
  const run = (exchange: Exchange, input: Input): Reply | Promise<Reply> => {
    const { caller, id: requestId, headers, person, trace } = exchange
    if (!caller) throw new AppError('unauthenticated')
    const origin = toOrigin(exchange) ?? ''
    const { current } = context.catalogue
    const answer = operation.run(context, {
      input,
      caller,
      requestId,
      headers,
      origin,
      person,
      trace,
      exchange,
    })
    if (answer instanceof Promise) return answer.then((ready) => toReply(exchange, ready))
    if (exchange.raw.method === 'GET' && !hasBody(exchange.raw)) prepare(exchange, answer, current)
    return toReply(exchange, answer)
  }
  const route: Route = {
    methods: inputFrom === 'body or query' ? [method, 'QUERY'] : [method],
    path,
    operation: name,
    scope,
    answer: createWithInput(operation, (exchange, input) => withAdmission(admission, exchange, run, input)),
  }
  /** The next request for exactly this target gets the document without routing, parsing or searching the lists. */
  const prepare = ({ raw: { url = '' }, params }: Exchange, document: Document, lists: Catalogue) => {
    const answer = (exchange: Exchange) => {
      if (context.catalogue.current === lists && !hasBody(exchange.raw))
        return withAdmission(admission, exchange, toDocumentReply, document)
      exchange.params = params
      return route.answer(exchange)
    }
    app.remember(url, { ...route, answer })
  }
  app.route(route)
}

/** Adds the route of an operation on something that a caller has created. */
export function addResourceOperation(
  app: App,
  context: Context,
  admission: Admission,
  { name, method, path, scope, run }: ResourceOperation,
): void {
  const answer = (exchange: Exchange) => {
    if (!exchange.caller) throw new AppError('unauthenticated')
    return run(context, exchange, exchange.caller)
  }
  app.route({
    methods: [method],
    path,
    operation: name,
    scope,
    answer: (exchange) => withAdmission(admission, exchange, answer, undefined),
  })
}

const toReply = (exchange: Exchange, answer: Document | VerificationResponse) =>
  answer instanceof Document ? toDocumentReply(exchange, answer) : toVerificationReply(exchange, answer)

/** Cacheable by the caller alone; an answer to a body is not, because a cache would mix products up. */
function toDocumentReply({ raw, headers }: Exchange, document: Document): Reply {
  if (hasBody(raw)) return { status: 200, headers: FINISHED, body: document.body }
  if (document.isCurrent(headers['if-none-match']))
    return { status: 304, headers: document.headers, body: '' }
  return document.reply
}
