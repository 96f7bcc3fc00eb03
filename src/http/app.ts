import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import { AppError } from '../errors.ts'
import { hasBody } from './body.ts'
import { createBrokenRequestHandlers } from './broken-requests.ts'
import type { ConnectionLimits } from './connection.ts'
import { type Connections, watchConnections } from './connections.ts'
import { Exchange, type Reply } from './exchange.ts'
import type { Hooks } from './hooks.ts'
import { requireHost } from './host.ts'
import { nodeHttp } from './node-http.ts'
import { createRouter, type Route } from './router.ts'
import { createSender } from './send.ts'
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

const LIMITS = {
  requestTimeout: 15_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 8192,
  // Node.js would answer in a shape of its own: see host.ts.
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
  const { onRequest, authorize, toErrorReply, onClose, onBrokenRequest } = hooks
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
    tls ? HSTS : [],
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
