import type { Context } from '../context/context.ts'
import { createAccessLog, createRecordRequest } from '../http/access-log.ts'
import {
  type Admission,
  createAdmission,
  endAdmission,
  pauseRefused,
  toInFlightLimits,
} from '../http/admission.ts'
import { type App, createApp } from '../http/app.ts'
import { toConnectionLimits } from '../http/connection-limits.ts'
import { createToErrorReply } from '../http/error-reply.ts'
import { createGuard, withTracing } from '../http/guard.ts'
import { addHealth } from '../http/health.ts'
import { StoreBudget } from '../http/store-budget.ts'
import { OPERATIONS, RESOURCE_OPERATIONS } from '../operations/operations.ts'
import { addDocs } from '../reference/docs-routes.ts'
import { addMedia } from './media.ts'
import { addOperation, addResourceOperation } from './operation-route.ts'

/** The listener of the API, with its in-flight limit. */
export type ApiServer = App & { readonly admission: Admission }

export function createApiServer(
  context: Context,
  admission: Admission = createAdmission(
    toInFlightLimits(context.config, context.nodes.count),
    context.config.maxWaiting,
  ),
): ApiServer {
  const { log, audit, lifecycle, nodes, tracing } = context
  const { storeTimeout } = context.config
  nodes.load.countInFlight = admission.count
  const guard = tracing ? withTracing(createGuard(context), tracing) : createGuard(context)
  const accessLog = createAccessLog(context, 'none', createRecordRequest(context))
  const app = createApp(
    {
      authorize: (exchange, { operation, scope, path }) => {
        exchange.operation = operation
        if (!scope) return undefined
        exchange.storeBudget = new StoreBudget(storeTimeout)
        const guarded = guard(exchange, scope, path)
        return guarded && exchange.storeBudget.limit(guarded)
      },
      // A damaged database ends the process; a lost one makes it not ready.
      toErrorReply: createToErrorReply(log, audit.reportFailure.bind(audit)),
      onRead: admission.hold,
      onWorkDone: (exchange) => endAdmission(admission, exchange),
      onClose: (exchange) => {
        accessLog.finish(exchange)
        nodes.load.finished += 1
        pauseRefused(admission, exchange)
      },
      onBrokenRequest: accessLog.countBroken,
      isStopping: () => lifecycle.stopping,
    },
    toConnectionLimits(context.config, 'api'),
    context.certificate && { certificate: context.certificate, asksCaller: true },
  )
  for (const operation of OPERATIONS) addOperation(app, context, admission, operation)
  for (const operation of RESOURCE_OPERATIONS) addResourceOperation(app, context, admission, operation)
  addHealth(app, context)
  addMedia(app, context, admission)
  addDocs(app, context.config, context.catalogue, admission)
  const close = async () => {
    admission.close()
    await app.close()
  }
  return { ...app, close, admission }
}
