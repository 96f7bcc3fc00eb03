import type { Context } from '../context.ts'
import { type App, createApp } from '../http/app.ts'
import { toTextReply } from '../http/exchange.ts'
import { createFail } from '../http/failures.ts'
import { addHealth } from '../http/health.ts'

/** The listener for the operator's own tools, on loopback unless told otherwise. */
export function buildAdminServer(context: Context): App {
  const { log, audit, metrics, lifecycle } = context
  const app = createApp({
    begin: () => {},
    admit: () => undefined,
    fail: createFail(log, audit.notice.bind(audit)),
    isLast: () => lifecycle.stopping,
  })
  app.route({
    methods: ['GET'],
    path: '/metrics',
    operation: 'metrics',
    answer: async () => toTextReply('text/plain; version=0.0.4; charset=utf-8', await metrics.print()),
  })
  addHealth(app, context)
  return app
}
