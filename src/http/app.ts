import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { InjectOptions, Response } from 'light-my-request'
import type { ConnectionLimits } from './connection.ts'
import { type Connections, watchConnections } from './connections.ts'
import { Exchange, type Reply } from './exchange.ts'
import { answerBrokenRequest, answerConnect, answerExpectation } from './failures.ts'
import { createRouter, type Route } from './router.ts'
import { sendWhole } from './send.ts'
import { createStreams } from './streams.ts'

/** A listener: our limits, our ids, our errors, nothing written to a log by itself. */
export type App = {
  readonly server: Server
  readonly connections: Connections
  readonly route: (route: Route) => void
  /** Asks without a socket: for tests, and for the console, which says for which person. */
  readonly inject: (options: InjectOptions, person?: string) => Promise<Response>
  /** Where it listens then. */
  readonly listen: (place: { readonly host: string; readonly port: number }) => Promise<string>
  /** Breaks off answers that are sent piece by piece, and that somebody still reads. */
  readonly cutStreams: () => void
  readonly close: () => Promise<void>
}

/** What happens to every request besides being answered. */
export type Hooks = {
  /** Before anything else is looked at; what it throws is the answer. */
  readonly begin: (exchange: Exchange) => void
  /** Once its route is known: who asks, and whether they may. */
  readonly admit: (exchange: Exchange, route: Route) => undefined | Promise<void>
  /** The one place where a failure becomes an answer. */
  readonly fail: (exchange: Exchange, thrown: unknown) => Reply
  /** When the work is done, before the answer is sent. */
  readonly settled?: (exchange: Exchange) => void
  /** When the answer is sent, or the caller has gone. */
  readonly closed?: (exchange: Exchange) => void
  /** Whether the server stops: connections are closed after their last answer. */
  readonly isLast: () => boolean
}

const LIMITS = {
  requestTimeout: 15_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 8192,
  // A request without Host gets an answer like any other.
  requireHostHeader: false,
} as const

const UNLIMITED: ConnectionLimits = {
  most: Number.POSITIVE_INFINITY,
  strangersPerAddress: Number.POSITIVE_INFINITY,
  isProxy: () => false,
  stalledMs: 30_000,
}

export function createApp(care: Hooks, limits = UNLIMITED): App {
  const { begin, admit, fail, settled, closed, isLast } = care
  const router = createRouter()
  const methods = new Set<string>()
  const streams = createStreams(fail)

  const answer = (exchange: Exchange): Reply | Promise<Reply> => {
    begin(exchange)
    const route = router.find(exchange)
    const admitted = admit(exchange, route)
    return admitted ? admitted.then(() => route.answer(exchange)) : route.answer(exchange)
  }
  const write = (exchange: Exchange, reply: Reply) => {
    const { response, responseHeaders } = exchange
    if (response.headersSent || response.destroyed) return
    const { status, headers, body } = reply
    const head = responseHeaders.concat(headers as string[])
    if (typeof body === 'string' || Buffer.isBuffer(body)) {
      sendWhole(exchange, status, head, body, isLast())
      return
    }
    response.writeHead(status, head)
    streams.send(exchange, body)
  }
  const send = (exchange: Exchange, reply: Reply) => {
    settled?.(exchange)
    // A server that stops looks first whether the bytes that it has read hold another request.
    if (isLast()) setImmediate(write, exchange, reply)
    else write(exchange, reply)
  }
  const dispatch = (raw: IncomingMessage, response: ServerResponse, person?: string) => {
    const connection = connections.begin(raw)
    const exchange = new Exchange(raw, response, connection, person)
    response.on('close', () => {
      if (connection) connections.end(connection)
      closed?.(exchange)
    })
    try {
      const reply = answer(exchange)
      if (!(reply instanceof Promise)) return send(exchange, reply)
      reply.then(
        (ready) => send(exchange, ready),
        (thrown) => send(exchange, fail(exchange, thrown)),
      )
    } catch (thrown) {
      send(exchange, fail(exchange, thrown))
    }
  }

  const server = createServer(LIMITS, (raw, response) => dispatch(raw, response))
    .on('clientError', (error, socket) =>
      answerBrokenRequest(error, socket as Socket, connections.find(socket as Socket)),
    )
    .on('checkExpectation', answerExpectation)
    .on('connect', ({ socket }) => answerConnect(socket, connections.find(socket), methods))
  const connections = watchConnections(server, limits)
  return {
    server,
    connections,
    route: (route) => {
      router.add(route)
      for (const method of route.methods) methods.add(method)
      if (methods.has('GET')) methods.add('HEAD')
    },
    inject: async (options, person) =>
      (await import('light-my-request')).inject((raw, response) => dispatch(raw, response, person), options),
    listen: (place) => listen(server, place),
    cutStreams: streams.cut,
    close: async () => {
      connections.close()
      if (server.listening) await close(server)
    },
  }
}

async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<string> {
  server.listen(port, host)
  await once(server, 'listening')
  const { address, port: taken, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  await closed
}
