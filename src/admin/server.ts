import { createCheckAdminToken } from '../accounts/check-admin-token.ts'
import type { Context } from '../context/context.ts'
import { AppError } from '../errors.ts'
import { createAccessLog } from '../http/access-log.ts'
import { createAddresses } from '../http/address.ts'
import { type App, createApp } from '../http/app.ts'
import { readJsonBody } from '../http/body.ts'
import { toConnectionLimits } from '../http/connection-limits.ts'
import { createToErrorReply } from '../http/error-reply.ts'
import { type Exchange, type Reply, toJsonReply } from '../http/exchange.ts'
import { addHealth } from '../http/health.ts'
import type { AdminDeps } from './admin-deps.ts'
import { createToAdminErrorReply } from './admin-error-reply.ts'
import { createArchiveReads } from './archive-reads.ts'
import { createAuthentication } from './authentication.ts'
import { authorize, isAllowed } from './authorize.ts'
import { createChainChecks } from './chain-check.ts'
import { toCharts } from './charts.ts'
import { createHostCheck } from './host-check.ts'
import { addMetrics } from './metrics-route.ts'
import { createOidcClient } from './oidc-client.ts'
import { addDocument } from './openapi.ts'
import { toOverview } from './overview.ts'
import { createOverviewCache } from './overview-cache.ts'
import { addPage } from './page.ts'
import { createRecordCounter } from './record-counter.ts'
import { type AdminRoute, changesAccess, WithHeaders } from './route.ts'
import { ADMIN_ROUTES } from './routes.ts'
import { createSearches, createSearchLimit } from './searches.ts'
import { addSso } from './sso.ts'
import { toSsoOptions } from './sso-options.ts'
import { createStreamLimit } from './stream-limit.ts'
import { createAdminValidate } from './validate.ts'

/** The admin listener: console, admin API, metrics, health. `api` is the public API. */
export function buildAdminServer(
  context: Context,
  api: App,
  authentication = createAuthentication(context),
): App {
  const { log, audit, lifecycle } = context
  const addresses = createAddresses(context.config)
  const accessLog = createAccessLog(context, 'admin')
  const app = createApp(
    {
      onRequest: createHostCheck(context.config, addresses),
      authorize: (exchange, { operation }) => {
        exchange.operation = operation
        return undefined
      },
      toErrorReply: createToAdminErrorReply(createToErrorReply(log, audit.reportFailure.bind(audit))),
      onClose: accessLog.finish,
      onBrokenRequest: accessLog.countBroken,
      isStopping: () => lifecycle.stopping,
    },
    toConnectionLimits(context.config, 'admin'),
    context.certificate && { certificate: context.certificate, asksCaller: false },
  )
  addMetrics(app, context)
  const checks = createChainChecks(context)
  const counter = createRecordCounter(context)
  const searches = createSearches(context)
  addHealth(app, context)
  addPage(app)
  addDocument(app, ADMIN_ROUTES)
  const deps: AdminDeps = {
    context,
    api,
    authentication,
    checkToken: createCheckAdminToken({
      table: context.store.adminTokens,
      pepper: () => context.keyring()['api-key-pepper'],
      audit,
      log,
    }),
    addresses,
    checks,
    counter,
    archives: createArchiveReads(context.store, context.config.auditArchiveDir),
    searches,
    overviewCache: createOverviewCache((query) => toOverview(context, query)),
    chartsCache: createOverviewCache((query) => toCharts(context, query)),
  }
  addRoutes(app, deps)
  const sso = toSsoOptions(context.config)
  const oidc = sso && createOidcClient(sso.client)
  if (sso && oidc) addSso(app, deps, oidc, sso)
  const close = async () => {
    await Promise.all([checks.close(), counter.close(), searches.close(), oidc?.close()])
    await app.close()
  }
  return { ...app, close }
}

const HEADERS = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff']

function addRoutes(app: App, deps: AdminDeps): void {
  // Compiled with the first request, so that the server starts faster.
  let validate: ReturnType<typeof createAdminValidate> | undefined
  const readInput = async (route: AdminRoute, exchange: Exchange) => {
    const { input, method, bodyLimit } = route
    if (!input) return {}
    const given = method === 'GET' ? readQuery(exchange.search) : await readJsonBody(exchange, bodyLimit)
    validate ??= createAdminValidate()
    return validate(input, given ?? {}) as Record<string, never>
  }
  const limitStreams = createStreamLimit()
  const limitSearches = createSearchLimit()
  for (const route of ADMIN_ROUTES)
    app.route({
      methods: [route.method],
      path: route.path,
      operation: route.name,
      answer: async (exchange) => {
        const before = await authorize(deps, route, exchange)
        // PostgreSQL cannot store this character, so no name contains it.
        if (Object.values(exchange.params).some((text) => text.includes('\0')))
          throw new AppError('not_found')
        const input = await readInput(route, exchange)
        // A body may take seconds to arrive. The account may have been removed meanwhile.
        const actor = route.method === 'GET' ? before : await authorize(deps, route, exchange)
        if (route.stream !== undefined) limitStreams(route.stream, actor.session, exchange)
        const isStillAllowed = () => isAllowed(deps, route, exchange)
        const request = { input, params: exchange.params, actor, exchange, isStillAllowed }
        const run = () => route.run(deps, request)
        const isGone = () => exchange.response.destroyed
        const answer = await (route.isSearch ? limitSearches(actor.session, isGone, run) : run())
        if (changesAccess(route)) await deps.context.revocations.keep()
        return toReply(route, answer)
      },
    })
}

const readQuery = (search: string) => Object.fromEntries(new URLSearchParams(search))

function toReply({ stream }: AdminRoute, answer: unknown): Reply {
  const { body, headers } = answer instanceof WithHeaders ? answer : { body: answer, headers: [] }
  const all = [...HEADERS, ...headers]
  if (stream === undefined) return toJsonReply(body as object, 200, all)
  return { status: 200, headers: ['content-type', stream, ...all], body: body as AsyncIterable<string> }
}
