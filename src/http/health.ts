import type { Context } from '../context/context.ts'
import type { CallGuard } from '../sources/guard/call-guard.ts'
import type { App } from './app.ts'
import { toJsonReply } from './exchange.ts'

/** Names and states only, no figures: the address is public. A source that is down does not make the server unready. */
const toStates = (guards: readonly CallGuard[]) =>
  Object.fromEntries(
    Map.groupBy(guards, ({ name }) => name)
      .entries()
      .map(([name, list]) => [name, toState(list.map((post) => post.read().state))]),
  )

function toState(states: readonly string[]): string {
  if (states.includes('disabled')) return 'disabled'
  return states.every((state) => state === 'closed') ? 'ok' : 'degraded'
}

/** The warnings of the sources that have some. */
const toWarnings = (guards: readonly CallGuard[]) =>
  Object.fromEntries(
    Map.groupBy(guards, ({ name }) => name)
      .entries()
      .map(([name, list]) => [name, [...new Set(list.flatMap((post) => post.read().warnings))]] as const)
      .filter(([, warnings]) => warnings.length > 0),
  )

/** Live: the process responds. Ready: it can write the audit log and is not stopping. */
export function addHealth(app: App, { audit, lifecycle, sourceChain }: Context): void {
  const common = { methods: ['GET'], operation: 'health' }
  app.route({ ...common, path: '/health/live', answer: () => toJsonReply({ status: 'live' }) })
  app.route({
    ...common,
    path: '/health/ready',
    answer: async () => {
      const writable = await audit.check()
      const ready = writable && !lifecycle.stopping
      const body = {
        status: ready ? 'ready' : lifecycle.stopping ? 'stopping' : 'not ready',
        store: writable ? 'ok' : 'failed',
        audit: writable ? 'ok' : 'failed',
        sources: toStates(sourceChain.guards),
        warnings: toWarnings(sourceChain.guards),
      }
      return toJsonReply(body, ready ? 200 : 503, ['cache-control', 'no-store'])
    },
  })
}
