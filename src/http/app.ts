import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { InjectOptions, Response } from 'light-my-request'
import { Exchange, type Reply } from './exchange.ts'
import { answerBrokenRequest, answerExpectation } from './failures.ts'
import { createRouter, type Route } from './router.ts'

/** A listener: our limits, our ids, our errors, nothing written to a log by itself. */
export type App = {
  readonly server: Server
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
export type Care = {
  /** Before anything else is looked at; what it throws is the answer. */
  readonly begin: (exchange: Exchange) => void
  /** Once its route is known: who asks, and whether they may. */
  readonly admit: (exchange: Exchange, route: Route) => undefined | Promise<void>
  /** The one place where a failure becomes an answer. */
  readonly fail: (exchange: Exchange, thrown: unknown) => Reply
  /** Whether the connection is to be closed after the answer. */
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

export function createApp({ begin, admit, fail, isLast }: Care): App {
  const router = createRouter()
  const streams = new Set<ServerResponse>()

  const answer = (exchange: Exchange): Reply | Promise<Reply> => {
    begin(exchange)
    const route = router.find(exchange)
    const admitted = admit(exchange, route)
    return admitted ? admitted.then(() => route.answer(exchange)) : route.answer(exchange)
  }
  const sendPieces = (exchange: Exchange, pieces: AsyncIterable<string>) => {
    const { raw, response } = exchange
    // Nothing would hold the pieces back: they would all be made at once, for nobody.
    if (raw.method === 'HEAD') {
      response.end()
      return
    }
    streams.add(response)
    pipeline(Readable.from(pieces, { objectMode: false }), response)
      .catch((thrown) => {
        // It is too late for an answer, and not for the log.
        if (!isGone(thrown)) fail(exchange, thrown)
      })
      .finally(() => streams.delete(response))
  }
  const send = (exchange: Exchange, { status, headers, body }: Reply) => {
    const { raw, response, early } = exchange
    if (response.headersSent || response.destroyed) return
    const head = early.concat(headers as string[])
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) {
      response.writeHead(status, head)
      sendPieces(exchange, body)
      return
    }
    if (status !== 304) head.push('content-length', String(Buffer.byteLength(body)))
    if (isLast() && !headers.includes('connection')) head.push('connection', 'close')
    response.writeHead(status, head)
    response.end(raw.method === 'HEAD' ? undefined : body)
  }
  const dispatch = (raw: IncomingMessage, response: ServerResponse, person?: string) => {
    const exchange = new Exchange(raw, response, person)
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
    .on('clientError', answerBrokenRequest)
    .on('checkExpectation', answerExpectation)
  return {
    server,
    route: router.add,
    inject: async (options, person) =>
      (await import('light-my-request')).inject((raw, response) => dispatch(raw, response, person), options),
    listen: async ({ host, port }) => {
      server.listen(port, host)
      await once(server, 'listening')
      const { address, port: taken, family } = server.address() as AddressInfo
      return `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`
    },
    cutStreams: () => {
      for (const response of streams) response.destroy()
    },
    close: async () => {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeIdleConnections()
      await closed
    },
  }
}

/** Whoever goes away in the middle has read enough. */
const isGone = (thrown: unknown) =>
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(
    String((thrown as NodeJS.ErrnoException).code),
  )
