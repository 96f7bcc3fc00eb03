import type { Context } from '../context/context.ts'
import { createAccessLog } from '../http/access-log.ts'
import { type App, createApp } from '../http/app.ts'
import { toConnectionLimits } from '../http/connection-limits.ts'
import { createToErrorReply } from '../http/error-reply.ts'
import { createToAdminErrorReply } from './admin-error-reply.ts'
import { addMetrics } from './metrics-route.ts'

/** A listener for Prometheus on another machine, without the console. Any Host is accepted: there are no sessions. */
export function buildMetricsServer(context: Context): App {
  const { log, audit, lifecycle, config, certificate } = context
  const accessLog = createAccessLog(context, 'admin')
  const app = createApp(
    {
      authorize: (exchange, { operation }) => {
        exchange.operation = operation
        return undefined
      },
      toErrorReply: createToAdminErrorReply(createToErrorReply(log, audit.reportFailure.bind(audit))),
      onClose: accessLog.finish,
      onBrokenRequest: accessLog.countBroken,
      isStopping: () => lifecycle.stopping,
    },
    toConnectionLimits(config, 'metrics'),
    certificate && { certificate, asksCaller: false },
  )
  addMetrics(app, context)
  return app
}
