import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { createApp } from '../http/app.ts'
import { createNotFoundHandler } from '../http/failures.ts'
import { addHealth } from '../http/health.ts'

/** The listener for the operator's own tools, on loopback unless told otherwise. */
export function buildAdminServer(context: Context): FastifyInstance {
  const app = createApp(context)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  app.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await context.metrics.print()),
  )
  addHealth(app, context)
  app.setNotFoundHandler(
    createNotFoundHandler(
      ['/metrics', '/health/live', '/health/ready'].map((path) => ({ path, methods: ['GET', 'HEAD'] })),
    ),
  )
  return app
}
