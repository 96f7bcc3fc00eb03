import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'

/** Live: the process answers. Ready: it can do its work, and means to go on. */
export function addHealth(app: FastifyInstance, { audit, lifecycle }: Context): void {
  const config = { operation: 'health' }
  app.get('/health/live', { config }, async () => ({ status: 'live' }))

  app.get('/health/ready', { config }, async (_request, reply) => {
    const writable = await audit.check()
    const ready = writable && !lifecycle.stopping
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({
        status: ready ? 'ready' : lifecycle.stopping ? 'stopping' : 'not ready',
        store: writable ? 'ok' : 'failed',
        audit: writable ? 'ok' : 'failed',
      })
  })
}
