import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Context } from './context.ts'
import { AppError } from './errors.ts'
import { addDocs } from './http/docs.ts'
import { answerBrokenRequest, createErrorHandler, createNotFoundHandler } from './http/failures.ts'
import { createGuard } from './http/guard.ts'
import { addHealth } from './http/health.ts'
import { createReadInput } from './http/input.ts'
import { addMedia } from './http/media.ts'
import { toRequestId } from './http/request-id.ts'
import { openState, stateOf } from './http/request-state.ts'
import { Document } from './operations/document.ts'
import { listInternetBundles } from './operations/list-internet-bundles.ts'
import { listSmeBundles } from './operations/list-sme-bundles.ts'
import { listTvAddOns } from './operations/list-tv-add-ons.ts'
import type { Operation } from './operations/operation.ts'
import { verifyBvn } from './operations/verify-bvn.ts'
import { verifyNin } from './operations/verify-nin.ts'

/** The API. Adding an operation is a file in operations/ and a line here. */
export const OPERATIONS: readonly Operation[] = [
  verifyNin,
  verifyBvn,
  listInternetBundles,
  listSmeBundles,
  listTvAddOns,
]

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']
const JSON_TYPE = 'application/json; charset=utf-8'

export function buildServer(context: Context): FastifyInstance {
  const app = createApp(context)
  addRequestLine(app, context)
  for (const operation of OPERATIONS) addOperation(app, context, operation)
  addHealth(app, context)
  addMedia(app, context)
  addDocs(app)
  app.setErrorHandler(createErrorHandler(context.log))
  app.setNotFoundHandler(createNotFoundHandler(listRoutes()))
  return app
}

function createApp({ config, log }: Context): FastifyInstance {
  const app = Fastify({
    logger: false,
    genReqId: ({ headers }) => toRequestId(headers['x-request-id']),
    requestTimeout: 15_000,
    keepAliveTimeout: 65_000,
    http: { maxHeaderSize: 8192, headersTimeout: 10_000, connectionsCheckingInterval: 1000 },
    // Requests on connections that were open before the signal to stop are still answered.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    trustProxy: config.trustProxy ?? false,
    routerOptions: { maxParamLength: 8192 },
    clientErrorHandler: answerBrokenRequest,
    // An address that cannot be decoded never reaches a route.
    frameworkErrors: (_error, request, reply) => {
      reply.header('x-request-id', request.id)
      createErrorHandler(log)(new AppError('not_found'), request, reply)
    },
  })
  // Bodies are read by http/body.ts, the same way for every method: Fastify is told that none has one.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  return app
}

/** Counts a request in, and writes its line and its metrics when it is answered or given up. */
function addRequestLine(app: FastifyInstance, context: Context): void {
  const { overload, lifecycle } = context
  app.addHook('onRequest', async (request, reply) => {
    const { operation = 'unknown' } = request.routeOptions.config as { operation?: string }
    const state = openState(request, operation)
    reply.header('x-request-id', request.id)
    reply.raw.once('close', () => finishRequest(context, request, reply))
    if (operation === 'health') return
    if (!overload.enter()) throw new AppError('overloaded')
    state.inFlight = true
  })
  // Decided as late as can be: a request that was accepted before the signal to stop ends its connection, too.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (lifecycle.stopping) reply.header('connection', 'close')
    done(null, payload)
  })
}

function finishRequest(
  { log, metrics, overload }: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { operation, caller, outcome, startedAt, inFlight } = stateOf(request)
  const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
  const mode = caller?.mode ?? 'none'
  if (inFlight) overload.leave()
  metrics.countRequest(operation, mode, outcome, durationMs)
  const status = reply.statusCode
  log.request({
    requestId: request.id,
    operation,
    mode,
    keyId: caller?.keyId ?? '',
    status,
    outcome,
    durationMs,
  })
}

function addOperation(app: FastifyInstance, context: Context, operation: Operation): void {
  const readInput = createReadInput(operation)
  app.route({
    method: operation.inputFrom === 'body or query' ? [operation.method, 'QUERY'] : operation.method,
    url: operation.path,
    config: { operation: operation.name },
    schema: { response: { 200: operation.response } },
    onRequest: createGuard(context, operation.scope),
    handler: async (request, reply) => {
      const input = await readInput(request)
      const caller = stateOf(request).caller
      if (!caller) throw new AppError('unauthenticated')
      const answer = await operation.run(context, { input, caller, origin: toOrigin(context, request) })
      if (answer instanceof Document) return sendDocument(request, reply, answer)
      return reply.header('cache-control', 'no-store').send(answer)
    },
  })
}

/** Cacheable by the caller alone; an answer to a body is not, because a cache would mix products up. */
function sendDocument(request: FastifyRequest, reply: FastifyReply, document: Document): FastifyReply {
  const { headers } = request
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
    return reply.header('cache-control', 'no-store').type(JSON_TYPE).send(document.bytes)
  reply.header('cache-control', 'private').header('etag', document.etag)
  if (document.isKnownTo(headers['if-none-match'])) return reply.code(304).send()
  return reply.type(JSON_TYPE).send(document.bytes)
}

/** The address that the caller used: right behind a port mapping, too. TABBAT_PUBLIC_URL wins. */
const toOrigin = ({ config }: Context, { host }: FastifyRequest) =>
  config.publicUrl ?? (/^[A-Za-z0-9.[\]:-]{1,255}$/.test(host) ? `http://${host}` : '')

const listRoutes = () =>
  OPERATIONS.map(({ path, method, inputFrom }) => ({
    path,
    methods: [
      method,
      ...(method === 'GET' ? ['HEAD'] : []),
      ...(inputFrom === 'body or query' ? ['QUERY'] : []),
    ],
  })).concat(
    ['/health/live', '/health/ready', '/openapi.json', '/docs'].map((path) => ({
      path,
      methods: ['GET', 'HEAD'],
    })),
  )
