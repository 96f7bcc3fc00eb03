import { hash, timingSafeEqual } from 'node:crypto'
import type { Context } from '../context/context.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { App } from '../http/app.ts'
import { toTextReply } from '../http/exchange.ts'

/** Metrics for Prometheus: without an account, with a token if TABBAT_METRICS_TOKEN is set. */
export function addMetrics(app: App, { metrics, config }: Pick<Context, 'metrics' | 'config'>): void {
  const isAllowed = createTokenCheck(config.metricsToken)
  // Requests that arrive while the text is made share it: the listener may need no key.
  let printing: Promise<Buffer> | undefined
  const print = async () => {
    try {
      return Buffer.from(await metrics.print())
    } finally {
      printing = undefined
    }
  }
  app.route({
    methods: ['GET'],
    path: '/metrics',
    operation: 'metrics',
    answer: async ({ headers }) => {
      if (!isAllowed(headers.authorization ?? ''))
        throw new AdminError('wrong_token', { headers: ['www-authenticate', 'Bearer'] })
      printing ??= print()
      return toTextReply('text/plain; version=0.0.4; charset=utf-8', await printing)
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
