import { hash, timingSafeEqual } from 'node:crypto'
import type { Context } from '../context/context.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { App } from '../http/app.ts'
import { toTextReply } from '../http/exchange.ts'

/** Metrics for Prometheus: without an account, with a token if TABBAT_METRICS_TOKEN is set. */
export function addMetrics(app: App, { metrics, config }: Pick<Context, 'metrics' | 'config'>): void {
  const isAllowed = createTokenCheck(config.metricsToken)
  app.route({
    methods: ['GET'],
    path: '/metrics',
    operation: 'metrics',
    answer: async ({ headers }) => {
      if (!isAllowed(headers.authorization ?? ''))
        throw new AdminError('wrong_token', { headers: ['www-authenticate', 'Bearer'] })
      return toTextReply('text/plain; version=0.0.4; charset=utf-8', await metrics.print())
    },
  })
}

/** Compares hashes, so that the time shows neither the length nor the position of a difference. */
function createTokenCheck(token: string | undefined): (authorization: string) => boolean {
  if (token === undefined) return () => true
  const expected = hash('sha256', token, 'buffer')
  return (authorization) =>
    timingSafeEqual(hash('sha256', authorization.replace(/^bearer +/i, ''), 'buffer'), expected)
}
