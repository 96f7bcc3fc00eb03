import Fastify, { type FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { AppError } from '../errors.ts'
import { answerBrokenRequest, answerExpectation, createErrorHandler } from './failures.ts'
import { toRequestId } from './request-id.ts'

/** Methods that may carry a body by the standard. */
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']

/** Fastify as both listeners use it: our limits, our ids, our errors, nothing written to a log by itself. */
export function createApp({
  config,
  log,
  audit,
}: Pick<Context, 'config' | 'log' | 'audit'>): FastifyInstance {
  const app = Fastify({
    logger: false,
    genReqId: ({ headers }) => toRequestId(headers['x-request-id']),
    requestTimeout: 15_000,
    keepAliveTimeout: 65_000,
    http: {
      maxHeaderSize: 8192,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1000,
      // A request without Host gets an answer like any other.
      requireHostHeader: false,
    },
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
  app.server.on('checkExpectation', answerExpectation)
  // A damaged database that is met anywhere ends the process; a lost one makes it not ready.
  app.setErrorHandler(createErrorHandler(log, (error) => audit.notice(error)))
  // Bodies are read by http/body.ts, the same way for every method: Fastify is told that none has one.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  return app
}
