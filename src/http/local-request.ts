import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, duplexPair, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../errors.ts'
import type { App } from './app.ts'
import { nodeHttp } from './node-http.ts'

export type LocalRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
  /** The body piece by piece. */
  readonly pieces?: AsyncIterable<Buffer>
  /** Where the caller is. */
  readonly address?: string
  /** The account of the console that makes the call, for the audit log. */
  readonly account?: string
}

export type LocalResponse = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * Makes a request to a listener of this process over a connection in memory. It works whatever address the listener has,
 * and it stays in this process when there are several workers.
 */
export async function requestLocally(app: App, wanted: LocalRequest): Promise<LocalResponse> {
  const response = await openLocally(app, wanted)
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) }
}

/** The same, with the response as a stream. */
export async function openLocally(
  app: App,
  { method, path, headers, body, pieces, address, account }: LocalRequest,
): Promise<IncomingMessage> {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const createConnection = () => connectLocally(app, address, account)
  const sent = nodeHttp.request({ createConnection, method, path, headers: { ...length, ...headers } })
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>
  // If the body does not arrive whole, neither does the response.
  if (pieces) pipeline(Readable.from(pieces), sent).catch(() => {})
  else sent.end(body)
  const [response] = await answered
  return response
}

/** The client's end of a new connection in memory. */
function connectLocally(app: App, address = '127.0.0.1', account?: string): Duplex {
  const [clientSide, serverSide] = duplexPair()
  app.server.emit('connection', Object.assign(serverSide, { remoteAddress: address }))
  const connection = app.connections.find(serverSide as Socket)
  if (!connection) throw new AppError('overloaded')
  connection.account = account
  return clientSide
}
