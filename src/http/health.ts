import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'

/** Live: the process answers. Ready: it can do its work, and means to go on. */
export function addHealth(app: FastifyInstance, { store, lifecycle }: Context): void {
  const config = { operation: 'health' }
  app.get('/health/live', { config }, async () => ({ status: 'live' }))

  let checkedAt = Number.NEGATIVE_INFINITY
  let isWritable = Promise.resolve(false)
  // Anybody may ask, so the store is tried once a second at most.
  const checkStore = () => {
    if (performance.now() - checkedAt < 1000) return isWritable
    checkedAt = performance.now()
    isWritable = store.checkWritable().then(
      () => true,
      () => false,
    )
    return isWritable
  }
  app.get('/health/ready', { config }, async (_request, reply) => {
    const writable = await checkStore()
    const ready = writable && !lifecycle.stopping
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({
        status: ready ? 'ready' : lifecycle.stopping ? 'stopping' : 'not ready',
        store: writable ? 'ok' : 'failed',
      })
  })
}
