import type { AuditLog } from '../audit/audit-log.ts'
import type { CallGuard, GuardFigures } from '../sources/guard/call-guard.ts'
import type { App } from './app.ts'
import { toJsonReply } from './exchange.ts'

type HealthDeps = {
  readonly audit: Pick<AuditLog, 'check' | 'hasEnded'>
  readonly lifecycle: { readonly stopping: boolean }
  readonly sourceChain: { readonly guards: readonly CallGuard[] }
  readonly nodes: { readonly count: () => number }
}

/** Names and states only, no figures: the address is public. A source that is down does not make the server unready. */
const toStates = (guards: readonly CallGuard[]) =>
  Object.fromEntries(
    Map.groupBy(guards, ({ name }) => name)
      .entries()
      .map(([name, list]) => [name, toState(list.map((guard) => guard.read()))]),
  )

function toState(figures: readonly GuardFigures[]): string {
  if (figures.some(({ state }) => state === 'disabled')) return 'disabled'
  return figures.some(({ down }) => down) ? 'degraded' : 'ok'
}

/** The warnings of the sources that have some. */
const toWarnings = (guards: readonly CallGuard[]) =>
  Object.fromEntries(
    Map.groupBy(guards, ({ name }) => name)
      .entries()
      .map(([name, list]) => [name, [...new Set(list.flatMap((post) => post.read().warnings))]] as const)
      .filter(([, warnings]) => warnings.length > 0),
  )

type Readiness = 'ready' | 'degraded' | 'not ready' | 'stopping'

/**
 * While the store is unavailable, look-ups go on and verifications get our own 503 with Retry-After. So a load balancer goes
 * on sending requests, unless its check is strict: with every node out of service, callers would get its error page.
 */
function toReadiness({ audit, lifecycle }: HealthDeps, isWritable: boolean, isStrict: boolean): Readiness {
  if (lifecycle.stopping) return 'stopping'
  if (isWritable) return 'ready'
  return isStrict || audit.hasEnded ? 'not ready' : 'degraded'
}

/** Live: the process responds. Ready: it takes requests; with `?strict`, verifications too. */
export function addHealth(app: App, context: HealthDeps): void {
  const { audit, sourceChain, nodes } = context
  const common = { methods: ['GET'], operation: 'health' }
  app.route({ ...common, path: '/health/live', answer: () => toJsonReply({ status: 'live' }) })
  app.route({
    ...common,
    path: '/health/ready',
    answer: async ({ search }) => {
      const isWritable = await audit.check()
      const status = toReadiness(context, isWritable, new URLSearchParams(search).has('strict'))
      const body = {
        status,
        store: isWritable ? 'ok' : 'failed',
        audit: isWritable ? 'ok' : 'failed',
        nodes: nodes.count(),
        sources: toStates(sourceChain.guards),
        warnings: toWarnings(sourceChain.guards),
      }
      const takesRequests = status === 'ready' || status === 'degraded'
      return toJsonReply(body, takesRequests ? 200 : 503, ['cache-control', 'no-store'])
    },
  })
}
