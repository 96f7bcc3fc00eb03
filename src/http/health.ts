import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import type { Post } from '../sources/post.ts'

/** Names and states only: whoever watches from outside learns no figures. A source that is down does not make us unready. */
const toStates = (posts: readonly Post[]) =>
  Object.fromEntries(
    Map.groupBy(posts, ({ name }) => name)
      .entries()
      .map(([name, list]) => [name, toState(list.map((post) => post.read().state))]),
  )

function toState(states: readonly string[]): string {
  if (states.includes('disabled')) return 'disabled'
  return states.every((state) => state === 'closed') ? 'ok' : 'degraded'
}

/** Live: the process answers. Ready: it can do its work, and means to go on. */
export function addHealth(app: FastifyInstance, { audit, lifecycle, line }: Context): void {
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
        sources: toStates(line.posts),
      })
  })
}
