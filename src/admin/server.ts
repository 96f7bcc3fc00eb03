import { hash, timingSafeEqual } from 'node:crypto'
import { createRequire } from 'node:module'
import { isIPv6 } from 'node:net'
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv'
import { createCheckAdminToken } from '../accounts/admin-tokens.ts'
import type { Config } from '../context/config.ts'
import type { Context } from '../context/context.ts'
import { ADMIN_ERRORS, AdminError } from '../contract/error.ts'
import type { TObject } from '../contract/schema.ts'
import { AppError, type FieldErrors, UserError } from '../errors.ts'
import { createHealthMonitor } from '../health/health-monitor.ts'
import { createAccessLog } from '../http/access-log.ts'
import { type Addresses, createAddresses } from '../http/address.ts'
import { type App, createApp } from '../http/app.ts'
import { readJsonBody } from '../http/body.ts'
import { toConnectionLimits } from '../http/connection-limits.ts'
import { type Exchange, type Reply, toJsonReply, toTextReply } from '../http/exchange.ts'
import { addHealth } from '../http/health.ts'
import { createToErrorReply } from '../http/send.ts'
import type { AdminDeps } from './admin-deps.ts'
import { createArchiveReads } from './archive-reads.ts'
import { createAuthentication } from './authentication.ts'
import { authorize, isAllowed } from './authorize.ts'
import { createChainChecks } from './chain-check.ts'
import { toCharts } from './charts.ts'
import { addGuide } from './guide.ts'
import { addDocument } from './openapi.ts'
import { createOverviewCache, createOverviewReader } from './overview-cache.ts'
import { addPage } from './page.ts'
import { createRecordCounter } from './record-counter.ts'
import { type AdminRoute, changesAccess, WithHeaders } from './route.ts'
import { ADMIN_ROUTES } from './routes.ts'
import { createSearches, createSearchLimit } from './searches.ts'
import { addSso, createOidcClient, toSsoOptions } from './sso.ts'
import { createStreamLimit, whileAllowed } from './stream-limit.ts'

/** The admin listener: console, guide, admin API, metrics, health. `api` is the public API. */
export function buildAdminServer(
  context: Context,
  api: App,
  { authentication = createAuthentication(context), health = createHealthMonitor(context) } = {},
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
      isDemo: context.isDemo,
    },
    toConnectionLimits(context.config, 'admin'),
    context.certificate && { certificate: context.certificate, asksCaller: false },
  )
  addMetrics(app, context)
  const checks = createChainChecks(context)
  const counter = createRecordCounter(context)
  const searches = createSearches(context)
  addHealth(app, context)
  addPage(app, context.isDemo)
  addGuide(app)
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
    overviewCache: createOverviewCache(createOverviewReader(context)),
    chartsCache: createOverviewCache((query) => toCharts(context, query)),
    health,
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
    return refuseNul(validate(input, given ?? {}) as Record<string, never>)
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
        return toReply(route, answer, isStillAllowed)
      },
    })
}

/** PostgreSQL refuses this character in a text, which would look like a failing database. */
function refuseNul<Input extends object>(input: Input): Input {
  const odd = Object.entries(input).filter(([, value]) => hasNul(value))
  if (odd.length === 0) return input
  const errors = Object.fromEntries(
    odd.map(([field]) => [field, [`${field} must not contain the character NUL`]]),
  )
  throw new AppError('validation_failed', { errors })
}

const hasNul = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.includes('\0')
    : typeof value === 'object' && value !== null && Object.values(value).some(hasNul)

const readQuery = (search: string) => Object.fromEntries(new URLSearchParams(search))

function toReply({ stream }: AdminRoute, answer: unknown, isStillAllowed: () => Promise<boolean>): Reply {
  const { body, headers } = answer instanceof WithHeaders ? answer : { body: answer, headers: [] }
  const all = [...HEADERS, ...headers]
  if (stream === undefined) return toJsonReply(body as object, 200, all)
  const pieces = body as AsyncIterable<string>
  // Streams of events ask by themselves, also while they have nothing to say.
  const isExport = stream !== 'text/event-stream'
  return {
    status: 200,
    headers: ['content-type', stream, ...all],
    body: isExport ? whileAllowed(pieces, isStillAllowed) : pieces,
  }
}

/** Metrics for Prometheus: without an account, with a token if TABBAT_METRICS_TOKEN is set. */
function addMetrics(app: App, { metrics, config }: Pick<Context, 'metrics' | 'config'>): void {
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
      isDemo: context.isDemo,
    },
    toConnectionLimits(config, 'metrics'),
    certificate && { certificate, asksCaller: false },
  )
  addMetrics(app, context)
  return app
}

/** Turns errors of the admin API into responses. All others go to the error handler of the public API. */
const createToAdminErrorReply =
  (fail: (exchange: Exchange, thrown: unknown) => Reply) =>
  (exchange: Exchange, thrown: unknown): Reply => {
    const error = toAdminError(thrown)
    if (!error) return fail(exchange, thrown)
    exchange.outcome = error.code
    const { code, message, headers } = error
    const body = { success: false, code, message, retryable: false, request_id: exchange.id }
    return toJsonReply(body, ADMIN_ERRORS[code].status, [...headers, 'cache-control', 'no-store'])
  }

/** The message of a `UserError` is written for users, so the page shows it. */
function toAdminError(thrown: unknown): AdminError | undefined {
  if (thrown instanceof AdminError) return thrown
  if (thrown instanceof UserError) return new AdminError('refused', { message: thrown.message })
  if (!(thrown instanceof AppError)) return undefined
  if (thrown.code === 'unauthenticated') return new AdminError('signed_out')
  // The rest of the body is not read, so the connection cannot be reused.
  if (thrown.code === 'body_too_large')
    return new AdminError('body_too_large', { headers: ['connection', 'close'] })
  return undefined
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/**
 * Refuses requests for an unknown host name. Another site can point its own name at this server (DNS rebinding), and the
 * browser then treats both as one site. Any port is accepted, because a forwarded port differs.
 */
function createHostCheck(
  { adminHost, adminNames = [] }: Pick<Config, 'adminHost' | 'adminNames'>,
  { hostOf }: Addresses,
): (exchange: Exchange) => void {
  const known = new Set([...LOOPBACK, toHostText(adminHost), ...adminNames])
  const isKnown = (host: string, exchange: Exchange) => {
    const name = host.toLowerCase().replace(/:\d{1,5}$/, '')
    // An IP address cannot be rebound: the browser was told to connect to it.
    return known.has(name) || (name !== '' && name === toHostText(exchange.raw.socket.localAddress ?? ''))
  }
  return (exchange) => {
    const { host = '' } = exchange.headers
    if (!isKnown(host, exchange) || !isKnown(hostOf(exchange), exchange))
      throw new AdminError('unknown_host', { headers: ['connection', 'close'] })
  }
}

/** An address in the spelling of a Host header. */
function toHostText(address: string): string {
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
  return isIPv6(plain) ? `[${plain}]` : plain
}

const require = createRequire(import.meta.url)

/** Loaded with the first input, so that a server starts sooner. */
function openValidator(): Ajv {
  const ajv = new (require('ajv') as typeof import('ajv')).Ajv({
    allErrors: true,
    keywords: ['x-rule'],
    verbose: true,
  })
  ajv.addFormat('date-time', (text) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)))
  return ajv
}

/** Validates the input of admin routes. Reports every bad field, and never repeats a value. */
function createAdminValidate(): (shape: TObject, input: unknown) => unknown {
  let ajv: Ajv | undefined
  const compile = (shape: TObject) => {
    ajv ??= openValidator()
    return ajv.compile(shape)
  }
  const checks = new Map<TObject, ValidateFunction>()
  return (shape, input) => {
    const check = checks.get(shape) ?? compile(shape)
    checks.set(shape, check)
    if (check(input)) return input
    throw new AppError('validation_failed', { errors: toFieldErrors(check.errors ?? []) })
  }
}

function toFieldErrors(errors: readonly ErrorObject[]): FieldErrors {
  const found: FieldErrors = {}
  for (const error of errors) {
    const name = toName(error)
    found[name] ??= [`${name} ${toProblem(error)}`]
  }
  return found
}

/** `/subject/number` becomes `subject.number`. For a missing or unknown field, the name of that field. */
function toName({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>
  const path = instancePath.split('/').filter((part) => part !== '')
  return [...path, missingProperty ?? additionalProperty ?? []].flat().join('.') || 'body'
}

function toProblem({ keyword, parentSchema, message }: ErrorObject): string {
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties') return 'is not a known field'
  const rule = (parentSchema as { 'x-rule'?: string } | undefined)?.['x-rule']
  return rule ?? message ?? 'is not valid'
}
