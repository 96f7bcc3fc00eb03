import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import type { HTTPMethod } from 'find-my-way'
import createFindMyWay from 'find-my-way'
import { DEMO_HEADER } from '../contract/demo.ts'
import type { NeededScope } from '../contract/scope.ts'
import { AppError, ERRORS, type ErrorCode, toErrorBody } from '../errors.ts'
import { createBoundedMap } from '../keys/bounded-map.ts'
import { hasBody } from './body.ts'
import {
  type Connection,
  type ConnectionLimits,
  type Connections,
  isArriving,
  watchConnections,
} from './connections.ts'
import { Exchange, type Params, type Reply, toRequestId } from './exchange.ts'
import { nodeHttp } from './node-http.ts'
import { closeAfterResponse, createSender, type SendHooks } from './send.ts'
import { createTlsListener, HSTS, type TlsOptions } from './tls-listener.ts'

/** A listener with our limits, request ids and errors. The hooks do the logging. */
export type App = {
  readonly server: Server
  /** What listens: the server itself, or TLS in front of it. */
  readonly listener: NetServer
  /** The address while it listens. */
  readonly url: () => string
  readonly connections: Connections
  readonly route: (route: Route) => void
  /** See router.ts. */
  readonly remember: (target: string, route: Route) => void
  /** Resolves with the address. */
  readonly listen: (address: { readonly host: string; readonly port: number }) => Promise<string>
  /** Breaks off the responses that are sent piece by piece. */
  readonly cutStreams: () => void
  readonly close: () => Promise<void>
}

/** What a listener does with every request besides routing it. */
type Hooks = SendHooks & {
  /** Runs first. What it throws becomes the response. */
  readonly onRequest?: (exchange: Exchange) => void
  /** Runs with the first bytes of a request, before they are parsed. */
  readonly onRead?: (connection: Connection, bytes: Buffer) => void
  /** Runs when the route is known, before the body is read. */
  readonly authorize?: (exchange: Exchange, route: Route) => undefined | Promise<void>
  /** Runs when the response is sent, or the caller has closed the connection. */
  readonly onClose?: (exchange: Exchange) => void
  /** Runs when bytes that never became a request were answered with this error. */
  readonly onBrokenRequest?: (requestId: string, code: ErrorCode) => void
  /** The data is that of `tabbat demo`, and every response says so. */
  readonly isDemo?: boolean
}

const LIMITS = {
  requestTimeout: 15_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 8192,
  // Node.js would answer in a shape of its own: see `requireHost`.
  requireHostHeader: false,
  // A request without a body has no stream to be read to its end.
  optimizeEmptyRequests: true,
} as const

const UNLIMITED: ConnectionLimits = {
  max: Number.POSITIVE_INFINITY,
  unauthenticatedPerAddress: Number.POSITIVE_INFINITY,
  isProxy: () => false,
  stalledMs: 30_000,
}

/** One connection in handshake for so many open ones. */
const HANDSHAKE_SHARE = 4

export function createApp(hooks: Hooks, limits = UNLIMITED, tls?: TlsOptions): App {
  const { onRequest, authorize, toErrorReply, onClose, onBrokenRequest, isDemo } = hooks
  const router = createRouter()
  const { send, cutStreams } = createSender(hooks)

  const answer = (exchange: Exchange): Reply | Promise<Reply> => {
    requireHost(exchange.raw)
    onRequest?.(exchange)
    const route = router.find(exchange)
    const authorized = authorize?.(exchange, route)
    return authorized ? authorized.then(() => route.answer(exchange)) : route.answer(exchange)
  }
  const dispatch = (raw: IncomingMessage, response: ServerResponse, expects?: 'continue' | 'unknown') => {
    const connection = connections.begin(raw)
    const exchange = new Exchange(raw, response, connection)
    exchange.awaitsContinue = expects === 'continue'
    // Node.js closes the connection after a response without `100 Continue`. Without a body there is no reason to.
    if (exchange.awaitsContinue && !hasBody(raw)) exchange.sendContinue()
    if (tls) exchange.responseHeaders.push(...HSTS)
    if (isDemo) exchange.responseHeaders.push(...DEMO_HEADER)
    response.on('close', () => {
      if (connection) connections.end(connection)
      onClose?.(exchange)
    })
    try {
      if (expects === 'unknown') throw new AppError('malformed_request', { headers: { connection: 'close' } })
      const reply = answer(exchange)
      if (!(reply instanceof Promise)) return send(exchange, reply)
      reply.then(
        (ready) => send(exchange, ready),
        (thrown) => send(exchange, toErrorReply(exchange, thrown)),
      )
    } catch (thrown) {
      send(exchange, toErrorReply(exchange, thrown))
    }
  }

  const broken = createBrokenRequestHandlers(
    (socket) => connections.find(socket),
    onBrokenRequest,
    tls ? `${HSTS.join(': ')}\r\n` : '',
  )
  const server = nodeHttp
    .createServer(LIMITS, (raw, response) => dispatch(raw, response))
    .on('checkContinue', (raw, response) => dispatch(raw, response, 'continue'))
    .on('checkExpectation', (raw, response) => dispatch(raw, response, 'unknown'))
    .on('clientError', (error, socket) => broken.onBrokenRequest(error, socket as Socket))
    .on('connect', ({ socket }) => broken.onConnect(socket, router.methods()))
  const connections = watchConnections(server, limits, hooks.onRead)
  const listener = tls ? createTlsListener(server, tls, limits.max / HANDSHAKE_SHARE) : server
  const url = () => toUrl(listener, tls ? 'https' : 'http')
  return {
    server,
    listener,
    url,
    connections,
    route: router.add,
    remember: router.remember,
    listen: async ({ host, port }) => {
      listener.listen(port, host)
      await once(listener, 'listening')
      return url()
    },
    cutStreams,
    close: async () => {
      connections.close()
      if (listener.listening) await close(listener, server)
    },
  }
}

function toUrl(listener: NetServer, scheme: 'http' | 'https'): string {
  const { address, port, family } = listener.address() as AddressInfo
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

async function close(listener: NetServer, server: Server): Promise<void> {
  const closed = once(listener, 'close')
  listener.close()
  // Behind TLS it does not listen itself; this ends its timer.
  if (server !== listener) server.close()
  server.closeIdleConnections()
  await closed
}

/** RFC 9112, section 3.2: HTTP/1.1 needs a Host header, and no request may have two. Node.js shows the first of several. */
function requireHost({ httpVersion, rawHeaders }: IncomingMessage): void {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts === 1 || (hosts === 0 && httpVersion < '1.1')) return
  throw new AppError('malformed_request', { headers: { connection: 'close' } })
}

const CODE_OF_SOCKET_ERROR: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Responses in our shape to what Node.js does not pass on as a request. */
function createBrokenRequestHandlers(
  find: (socket: Socket) => Connection | undefined,
  onBrokenRequest: Hooks['onBrokenRequest'] = () => {},
  everyLine = '',
) {
  const refuse = (socket: Socket, code: ErrorCode, headers = '') => {
    const connection = find(socket)
    const requestId = toRequestId(undefined)
    respondLast(socket, connection, toResponse(code, requestId, everyLine + headers))
    // A request whose body is still arriving has an access log line of its own.
    if (!connection || !isArriving(connection)) onBrokenRequest(requestId, code)
  }
  return {
    /** Bytes that cannot be parsed as HTTP, or that arrive too slowly. */
    onBrokenRequest: (error: Error & { code?: string }, socket: Socket): void => {
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && wasHeld(find(socket))) return
      if (socket.destroyed || error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else refuse(socket, CODE_OF_SOCKET_ERROR[error.code ?? ''] ?? 'malformed_request')
    },
    /** This is no proxy. What follows a CONNECT is not HTTP, so the connection ends with the response. */
    onConnect: (socket: Socket, methods: readonly string[]): void =>
      refuse(socket, 'method_not_allowed', `Allow: ${methods.join(', ')}\r\n`),
  }
}

/** The requests before it are answered first: responses go out in the order of the requests. */
function respondLast(socket: Socket, connection: Connection | undefined, bytes: string): void {
  if (!connection || connection.pending <= (isArriving(connection) ? 1 : 0)) {
    closeAfterResponse(socket, bytes)
    return
  }
  socket.removeAllListeners('data')
  connection.whenIdle = () => closeAfterResponse(socket, bytes)
}

/** The limit of Node.js also counts the time during which we did not read the body. That of connections.ts still applies. */
const wasHeld = (connection: Connection | undefined) =>
  connection?.held !== undefined && isArriving(connection) && connection.held === connection.latest

function toResponse(code: ErrorCode, requestId: string, headers: string): string {
  const { status } = ERRORS[code]
  const body = JSON.stringify(toErrorBody(new AppError(code), requestId))
  return (
    `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n${headers}` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`
  )
}

/** A path and its handler. A GET route answers HEAD as well. */
export type Route = {
  readonly methods: readonly string[]
  /** A segment that begins with a colon is a parameter. */
  readonly path: string
  /** In logs and metrics. */
  readonly operation: string
  /** The scope that the key needs; without it, no key is needed. */
  readonly scope?: NeededScope
  readonly answer: (exchange: Exchange) => Reply | Promise<Reply>
}

type Router = {
  /** Throws when the method and path are taken. */
  readonly add: (route: Route) => void
  /** The route, with the parameters of its path set in the exchange; `not_found` or `method_not_allowed` otherwise. */
  readonly find: (exchange: Exchange) => Route
  /** From now on, a GET of exactly this target finds this route, without parameters. */
  readonly remember: (target: string, route: Route) => void
  /** Every method that some path takes. */
  readonly methods: () => readonly string[]
}

/** A longer parameter is `not_found`. */
const MAX_PARAMETER_LENGTH = 500
/** Bounds the memory of remembered targets. */
const MAX_REMEMBERED = 1000
const MAX_REMEMBERED_LENGTH = 200

export function createRouter(): Router {
  const table = createFindMyWay({ maxParamLength: MAX_PARAMETER_LENGTH })
  const known = new Set<string>()
  const remembered = createBoundedMap<string, Route>(MAX_REMEMBERED)
  const lookUp = (method: string, path: string) => {
    const found = table.find(method as HTTPMethod, path)
    return found && hasEmpty(found.params) ? null : found
  }

  return {
    add: (route) => {
      const methods = route.methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      for (const method of methods) known.add(method)
      table.on(methods as HTTPMethod[], route.path, () => {}, route)
    },
    find: (exchange) => {
      const { method, url = '' } = exchange.raw
      const exact = method === 'GET' ? remembered.get(url) : undefined
      if (exact) return exact
      const path = toLocalPath(exchange.path)
      const found = lookUp(method ?? '', path)
      if (found) {
        exchange.params = found.params as Params
        return found.store as Route
      }
      const allowed = nodeHttp.METHODS.filter((method) => lookUp(method, path))
      if (allowed.length === 0) throw new AppError('not_found')
      throw new AppError('method_not_allowed', { headers: { allow: allowed.join(', ') } })
    },
    remember: (target, route) => {
      if (target.length <= MAX_REMEMBERED_LENGTH) remembered.set(target, route)
    },
    methods: () => [...known],
  }
}

/** `/keys/` is not `/keys/:id`. */
function hasEmpty(params: Readonly<Record<string, string | undefined>>): boolean {
  for (const name in params) if (params[name] === '') return true
  return false
}

/** A proxy may send an absolute URL. */
const toLocalPath = (path: string) => (path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, ''))
