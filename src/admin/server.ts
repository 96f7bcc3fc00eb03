import type { Context } from '../context/context.ts'
import { AppError } from '../errors.ts'
import { createAddresses } from '../http/address.ts'
import { type App, createApp, type Hooks } from '../http/app.ts'
import { readJsonBody } from '../http/body.ts'
import { toConnectionLimits } from '../http/connection-limits.ts'
import { type Exchange, type Reply, toJsonReply } from '../http/exchange.ts'
import { createFail } from '../http/failures.ts'
import { addHealth } from '../http/health.ts'
import type { AdminDeps } from './admin-deps.ts'
import { admit } from './admit.ts'
import { createChainChecks } from './chain-check.ts'
import { createOverviews } from './events.ts'
import { createHostCheck } from './host.ts'
import { addMetrics } from './metrics-route.ts'
import { addDocument } from './openapi.ts'
import { addPage } from './page.ts'
import { createPeople } from './people.ts'
import { createRecordCounter } from './record-counter.ts'
import { createAdminFail } from './refuse.ts'
import { type AdminRoute, WithHeaders } from './route.ts'
import { ADMIN_ROUTES } from './routes.ts'
import { createStreamLimit } from './stream-limit.ts'
import { createAdminValidate } from './validate.ts'

/** The listener for the operator's own tools, on loopback unless told otherwise. `api` is the public one. */
export function buildAdminServer(context: Context, api: App, people = createPeople(context)): App {
  const { log, audit, lifecycle } = context
  const addresses = createAddresses(context.config.trustProxy)
  const care: Hooks = {
    begin: createHostCheck(context.config, addresses),
    admit: () => undefined,
    fail: createAdminFail(createFail(log, audit.notice.bind(audit))),
    isLast: () => lifecycle.stopping,
  }
  const app = createApp(care, toConnectionLimits(context.config, 'admin'))
  addMetrics(app, context)
  const checks = createChainChecks(context)
  const counter = createRecordCounter(context)
  addHealth(app, context)
  addPage(app)
  addDocument(app, ADMIN_ROUTES)
  addRoutes(app, {
    context,
    api,
    people,
    addresses,
    checks,
    counter,
    overviews: createOverviews(context),
  })
  const close = async () => {
    await Promise.all([checks.close(), counter.close()])
    await app.close()
  }
  return { ...app, close }
}

/** Nothing of the admin API is kept by a browser, or shown inside another page. */
const HEADERS = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff']

function addRoutes(app: App, desk: AdminDeps): void {
  // Made when the first question comes: a server starts sooner without it.
  let validate: ReturnType<typeof createAdminValidate> | undefined
  const readInput = async (route: AdminRoute, exchange: Exchange) => {
    const { input, method, bodyLimit } = route
    if (!input) return {}
    const given = method === 'GET' ? readQuery(exchange.search) : await readJsonBody(exchange.raw, bodyLimit)
    validate ??= createAdminValidate()
    return validate(input, given ?? {}) as Record<string, never>
  }
  const limitStreams = createStreamLimit()
  for (const route of ADMIN_ROUTES)
    app.route({
      methods: [route.method],
      path: route.path,
      operation: route.name,
      answer: async (exchange) => {
        const first = await admit(desk, route, exchange)
        // PostgreSQL knows no text with this character, and nothing is called so.
        if (Object.values(exchange.params).some((text) => text.includes('\0')))
          throw new AppError('not_found')
        const input = await readInput(route, exchange)
        // A body may be seconds on its way: whoever was removed meanwhile is somebody else now.
        const person = route.method === 'GET' ? first : await admit(desk, route, exchange)
        if (route.stream !== undefined) limitStreams(person.session, exchange)
        return toReply(route, await route.run(desk, { input, params: exchange.params, person, exchange }))
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
