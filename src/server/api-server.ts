import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Context } from '../context/context.ts'
import type { NeededScope, Scope } from '../contract/scope.ts'
import { AppError } from '../errors.ts'
import { createAccessLog, createRecordRequest } from '../http/access-log.ts'
import { createAddresses, createToOrigin } from '../http/address.ts'
import {
  type Admission,
  createAdmission,
  endAdmission,
  pauseRefused,
  toInFlightLimits,
  withAdmission,
} from '../http/admission.ts'
import type { Route } from '../http/app.ts'
import { type App, createApp } from '../http/app.ts'
import { createWithInput, hasBody } from '../http/body.ts'
import { toConnectionLimits } from '../http/connection-limits.ts'
import { type Exchange, type Reply, StoreBudget, toTextReply } from '../http/exchange.ts'
import { addHealth } from '../http/health.ts'
import { createToErrorReply } from '../http/send.ts'
import type { Caller } from '../keys/caller.ts'
import { toKeyState } from '../keys/manage.ts'
import type { Allowance } from '../keys/rate-limit.ts'
import { Document } from '../operations/document.ts'
import type { Operation, ResourceOperation } from '../operations/operation.ts'
import { OPERATIONS, RESOURCE_OPERATIONS } from '../operations/operations.ts'
import { FINISHED, toVerificationReply } from '../operations/verification-reply.ts'
import { addDocs } from '../reference/docs-routes.ts'
import { openMediaToken } from '../registry/media-link.ts'
import { drawPortrait } from '../sources/sandbox/portrait.ts'
import { endAfter, type Tracing } from '../telemetry/tracing.ts'
import type { VerificationResponse } from '../verification/replay.ts'

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
      isDemo: context.isDemo,
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

/** Authenticates and authorizes a request, before its body is read. `route` is the declared path. */
type Guard = (exchange: Exchange, scope: NeededScope, route: string) => undefined | Promise<void>

function createGuard({ authenticate, rateLimit, config }: Context): Guard {
  const { callerOf } = createAddresses(config)
  const policy = `"key";q=${rateLimit?.limit};w=60`
  const requireAllowed = (exchange: Exchange, { allowed, remaining, resetS }: Allowance) => {
    exchange.responseHeaders.push('ratelimit-policy', policy, 'ratelimit', `"key";r=${remaining};t=${resetS}`)
    if (!allowed) throw new AppError('rate_limited', { headers: { 'retry-after': String(resetS) } })
  }
  const requireScope = (exchange: Exchange, scope: NeededScope, caller: Caller): undefined => {
    if (!caller.isAddressAllowed(callerOf(exchange)) || !hasScope(caller, scope))
      throw new AppError('forbidden')
    if (caller.clientCerts && !caller.clientCerts.includes(toClientFingerprint(exchange.raw.socket)))
      throw new AppError('forbidden')
  }
  const admit = (
    exchange: Exchange,
    scope: NeededScope,
    caller: Caller | undefined,
  ): undefined | Promise<void> => {
    if (!caller) throw new AppError('unauthenticated')
    exchange.caller = caller
    exchange.connection?.markAuthenticated({
      lineage: caller.lineage,
      authorization: exchange.headers.authorization ?? '',
    })
    if (caller.isUnconfirmed && scope !== 'catalogue:read') throw new AppError('audit_unavailable')
    const allowance = rateLimit?.take(caller.lineage)
    if (allowance instanceof Promise)
      return allowance.then((known) => {
        requireAllowed(exchange, known)
        requireScope(exchange, scope, caller)
      })
    if (allowance) requireAllowed(exchange, allowance)
    return requireScope(exchange, scope, caller)
  }
  return (exchange, scope) => {
    const caller = authenticate(exchange.headers.authorization, exchange)
    return caller instanceof Promise
      ? caller.then((known) => admit(exchange, scope, known))
      : admit(exchange, scope, caller)
  }
}

const hasScope = ({ scopes }: Caller, needed: NeededScope) =>
  typeof needed === 'string' ? scopes.has(needed) : needed.some((scope: Scope) => scopes.has(scope))

/**
 * Starts the trace of a request, and its first step. Without tracing the guard is used as it is, so that nothing is paid for.
 * Requests without a guard (health, pictures, unknown paths) are not traced.
 */
const withTracing =
  (guard: Guard, tracing: Tracing): Guard =>
  (exchange, scope, route) => {
    const { raw, headers, operation, startedAt } = exchange
    const { traceparent } = headers as { traceparent?: string }
    const trace = tracing.start({ method: raw.method ?? '', route, operation, traceparent, startedAt })
    exchange.trace = trace
    const span = trace.startStep('guard')
    if (!span) return guard(exchange, scope, route)
    let pending: Promise<void> | undefined
    try {
      pending = guard(exchange, scope, route)
    } finally {
      if (!pending) span.end()
    }
    return pending && endAfter(span, pending)
  }

/** Reading a certificate costs more than a route, and it cannot change during a connection. */
const known = new WeakMap<TLSSocket, string>()

/**
 * The certificate whose private key the caller has proved to hold, as sha256:<hex>; empty without one. It is not checked
 * against an authority or its end: the key names the very certificate.
 */
function toClientFingerprint(socket: Socket): string {
  if (!isTls(socket)) return ''
  const before = known.get(socket)
  if (before !== undefined) return before
  const fingerprint = socket.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '').toLowerCase()
  const text = fingerprint === undefined ? '' : `sha256:${fingerprint}`
  known.set(socket, text)
  return text
}

/** Without `instanceof`, for which a server without TLS would load 6 MB. */
const isTls = (socket: Socket): socket is TLSSocket => 'encrypted' in socket

type Input = Record<string, string>

/** Adds the route of an operation to the listener. */
function addOperation(app: App, context: Context, admission: Admission, operation: Operation): void {
  const { name, method, path, scope, inputFrom } = operation
  const toOrigin = createToOrigin(context.config)
  const run = (exchange: Exchange, input: Input): Reply | Promise<Reply> => {
    const { caller, id: requestId, headers, person, trace } = exchange
    if (!caller) throw new AppError('unauthenticated')
    const origin = toOrigin(exchange) ?? ''
    const { current } = context.catalogue
    const answer = operation.run(context, {
      input,
      caller,
      requestId,
      headers,
      origin,
      person,
      trace,
      exchange,
    })
    if (answer instanceof Promise) return answer.then((ready) => toReply(exchange, ready))
    if (exchange.raw.method === 'GET' && !hasBody(exchange.raw)) prepare(exchange, answer, current)
    return toReply(exchange, answer)
  }
  const route: Route = {
    methods: inputFrom === 'body or query' ? [method, 'QUERY'] : [method],
    path,
    operation: name,
    scope,
    answer: createWithInput(operation, (exchange, input) => withAdmission(admission, exchange, run, input)),
  }
  /** The next request for exactly this target gets the document without routing, parsing or searching the lists. */
  const prepare = ({ raw: { url = '' }, params }: Exchange, document: Document, lists: Catalogue) => {
    const answer = (exchange: Exchange) => {
      if (context.catalogue.current === lists && !hasBody(exchange.raw))
        return withAdmission(admission, exchange, toDocumentReply, document)
      exchange.params = params
      return route.answer(exchange)
    }
    app.remember(url, { ...route, answer })
  }
  app.route(route)
}

/** Adds the route of an operation on something that a caller has created. */
function addResourceOperation(
  app: App,
  context: Context,
  admission: Admission,
  { name, method, path, scope, run }: ResourceOperation,
): void {
  const answer = (exchange: Exchange) => {
    if (!exchange.caller) throw new AppError('unauthenticated')
    return run(context, exchange, exchange.caller)
  }
  app.route({
    methods: [method],
    path,
    operation: name,
    scope,
    answer: (exchange) => withAdmission(admission, exchange, answer, undefined),
  })
}

const toReply = (exchange: Exchange, answer: Document | VerificationResponse) =>
  answer instanceof Document ? toDocumentReply(exchange, answer) : toVerificationReply(exchange, answer)

/** Cacheable by the caller alone; an answer to a body is not, because a cache would mix products up. */
function toDocumentReply({ raw, headers }: Exchange, document: Document): Reply {
  if (hasBody(raw)) return { status: 200, headers: FINISHED, body: document.body }
  if (document.isCurrent(headers['if-none-match']))
    return { status: 304, headers: document.headers, body: '' }
  return document.reply
}

const PNG_FIRST_BYTE = 0x89
const OPERATION = 'fetch_picture'

/** Pictures that responses link to. Browsers send no key, so the signed address is the credential. */
function addMedia(app: App, context: Context, admission: Admission): void {
  app.route({
    methods: ['GET'],
    path: '/media/:token',
    operation: OPERATION,
    answer: (exchange) =>
      withAdmission(
        admission,
        exchange,
        (_, token) => fetchPicture(context, token),
        exchange.params.token ?? '',
      ),
  })
  // A sandbox portrait shows no real person: it is public and not audited.
  app.route({
    methods: ['GET'],
    path: '/media/sandbox/:file',
    operation: 'portrait',
    answer: (exchange) =>
      withAdmission(admission, exchange, (_, file) => toPortraitReply(file), exchange.params.file ?? ''),
  })
}

function toPortraitReply(file: string): Reply {
  const portrait = drawPortrait(file.replace(/\.svg$/, ''))
  if (portrait === undefined) throw new AppError('not_found')
  return toTextReply('image/svg+xml; charset=utf-8', portrait, [
    'cache-control',
    'public, max-age=86400',
    'content-security-policy',
    "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'x-content-type-options',
    'nosniff',
  ])
}

/** A rotation of the root key renews the key of links: another process may have signed with a newer one. */
const openLink = async ({ keyring, refreshKeyring }: Context, token: string) =>
  openMediaToken(keyring()['media-url'], token) ??
  openMediaToken((await refreshKeyring())['media-url'], token)

/** A link ends with its key, so the key is looked up at every fetch. The audit row is written before the picture is sent. */
async function fetchPicture(context: Context, token: string): Promise<Reply> {
  const { audit, store, registry, toSubjectHash } = context
  audit.requireHealthy()
  const link = await openLink(context, token)
  const key = link && (await store.keys.find(link.keyId))
  if (!key || toKeyState(key) !== 'active') throw new AppError('not_found')
  await requireAllowance(context, key.lineage)
  const picture = await registry.findPicture(link.mediaId)
  if (!picture) throw new AppError('not_found')
  const { bytes, nin } = picture
  const subject = toSubjectHash('nin', nin)
  const about = { key_id: key.id, mode: key.mode, operation: OPERATION, subject }
  await audit.record([{ phase: 'picture_fetched', ...about, outcome: 'ok' }])
  return toTextReply(bytes[0] === PNG_FIRST_BYTE ? 'image/png' : 'image/jpeg', bytes, [
    'cache-control',
    'no-store',
    'content-security-policy',
    "default-src 'none'; sandbox",
    'x-content-type-options',
    'nosniff',
  ])
}

/**
 * Each fetch writes to the audit log, so fetches are limited. They are counted apart from requests: a leaked link does not use
 * up the rate limit of its key.
 */
async function requireAllowance({ rateLimit }: Context, lineage: string): Promise<void> {
  const allowance = await rateLimit?.take(`picture:${lineage}`)
  if (allowance && !allowance.allowed)
    throw new AppError('rate_limited', { headers: { 'retry-after': String(allowance.resetS) } })
}
