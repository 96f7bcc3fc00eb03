import Fastify, { type FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { createErrorHandler, createNotFoundHandler } from '../http/failures.ts'
import { addHealth } from '../http/health.ts'

/** The listener for the operator's own tools, on loopback unless told otherwise. */
export function buildAdminServer(context: Context): FastifyInstance {
  const app = Fastify({ logger: false, forceCloseConnections: true, requestTimeout: 15_000 })
  app.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await context.metrics.print()),
  )
  addHealth(app, context)
  app.setErrorHandler(createErrorHandler(context.log))
  app.setNotFoundHandler(
    createNotFoundHandler(
      ['/metrics', '/health/live', '/health/ready'].map((path) => ({ path, methods: ['GET', 'HEAD'] })),
    ),
  )
  return app
}
