import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from './context.ts'
import { AppError } from './errors.ts'
import { createApp } from './http/app.ts'
import { addDocs } from './http/docs.ts'
import { createNotFoundHandler } from './http/failures.ts'
import { createGuard } from './http/guard.ts'
import { addHealth } from './http/health.ts'
import { createReadInput } from './http/input.ts'
import { addMedia } from './http/media.ts'
import { addRequestLine } from './http/request-line.ts'
import { stateOf } from './http/request-state.ts'
import { Document } from './operations/document.ts'
import { listInternetBundles } from './operations/list-internet-bundles.ts'
import { listSmeBundles } from './operations/list-sme-bundles.ts'
import { listTvAddOns } from './operations/list-tv-add-ons.ts'
import type { Operation } from './operations/operation.ts'
import { verifyBvn } from './operations/verify-bvn.ts'
import { verifyNin } from './operations/verify-nin.ts'
import type { Finished } from './verification/verify.ts'

/** The API. Adding an operation is a file in operations/ and a line here. */
export const OPERATIONS: readonly Operation[] = [
  verifyNin,
  verifyBvn,
  listInternetBundles,
  listSmeBundles,
  listTvAddOns,
]

const JSON_TYPE = 'application/json; charset=utf-8'

export function buildServer(context: Context): FastifyInstance {
  const app = createApp(context)
  addRequestLine(app, context)
  for (const operation of OPERATIONS) addOperation(app, context, operation)
  addHealth(app, context)
  addMedia(app, context)
  addDocs(app)
  app.setNotFoundHandler(createNotFoundHandler(listRoutes()))
  return app
}

function addOperation(app: FastifyInstance, context: Context, operation: Operation): void {
  const readInput = createReadInput(operation)
  app.route({
    method: operation.inputFrom === 'body or query' ? [operation.method, 'QUERY'] : operation.method,
    url: operation.path,
    config: { operation: operation.name },
    onRequest: createGuard(context, operation.scope),
    handler: async (request, reply) => {
      const input = await readInput(request)
      const caller = stateOf(request).caller
      if (!caller) throw new AppError('unauthenticated')
      const { id: requestId, headers } = request
      const origin = toOrigin(context, request)
      const answer = await operation.run(context, { input, caller, requestId, headers, origin })
      return answer instanceof Document
        ? sendDocument(request, reply, answer)
        : sendFinished(request, reply, answer)
    },
  })
}

function sendFinished(request: FastifyRequest, reply: FastifyReply, answer: Finished): FastifyReply {
  stateOf(request).outcome = answer.outcome
  if (answer.replayed) reply.header('idempotent-replayed', 'true')
  return reply.code(answer.status).header('cache-control', 'no-store').type(JSON_TYPE).send(answer.body)
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
    ['/health/live', '/health/ready', '/openapi.json', '/docs', '/media/:token', '/media/sandbox/:file'].map(
      (path) => ({ path, methods: ['GET', 'HEAD'] }),
    ),
  )
