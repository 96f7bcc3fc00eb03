import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { NeededScope, Scope } from '../contract/scope.ts'
import { AppError } from '../errors.ts'
import type { Authenticate } from '../keys/authenticate.ts'
import type { Caller } from '../keys/caller.ts'
import type { Allowance, RateLimit } from '../keys/rate-limit.ts'
import { endAfter, type Tracing } from '../telemetry/tracing.ts'
import { createAddresses } from './address.ts'
import type { Exchange } from './exchange.ts'
import type { HttpSettings } from './settings.ts'

/** Authenticates and authorizes a request, before its body is read. `route` is the declared path. */
type Guard = (exchange: Exchange, scope: NeededScope, route: string) => undefined | Promise<void>

type GuardDeps = {
  readonly authenticate: Authenticate
  readonly rateLimit: RateLimit | undefined
  readonly config: Pick<HttpSettings, 'trustProxy' | 'tlsCert'>
}

export function createGuard({ authenticate, rateLimit, config }: GuardDeps): Guard {
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
export const withTracing =
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
