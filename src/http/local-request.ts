import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { AppError } from '../errors.ts'
import type { App } from './app.ts'

export type LocalRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
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
  const { method, path, headers, body, address = '127.0.0.1', account } = wanted
  const [clientSide, serverSide] = duplexPair()
  app.server.emit('connection', Object.assign(serverSide, { remoteAddress: address }))
  const connection = app.connections.find(serverSide as Socket)
  if (!connection) throw new AppError('overloaded')
  connection.account = account
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const sent = request({
    createConnection: () => clientSide,
    method,
    path,
    headers: { ...length, ...headers },
  })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) }
}
