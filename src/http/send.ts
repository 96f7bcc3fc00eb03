import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isStoreFailure } from '../database/failure.ts'
import { AppError, ERRORS, toErrorBody } from '../errors.ts'
import type { Log } from '../telemetry/log.ts'
import { hasBody } from './body.ts'
import { type Exchange, type Reply, toJsonReply } from './exchange.ts'

/** Sends responses, whole or piece by piece. */
type Sender = {
  readonly send: (exchange: Exchange, reply: Reply) => void
  /** Breaks off the responses that are sent piece by piece. */
  readonly cutStreams: () => void
}

/** What a listener does with every response. */
export type SendHooks = {
  /** The only place where a failure becomes a response. */
  readonly toErrorReply: (exchange: Exchange, thrown: unknown) => Reply
  /** Runs when the work is done, before the response is sent. */
  readonly onWorkDone?: (exchange: Exchange) => void
  /** Whether the server stops. Connections are closed after their last response then. */
  readonly isStopping: () => boolean
}

export function createSender({ toErrorReply, onWorkDone, isStopping }: SendHooks): Sender {
  const streams = createStreams(toErrorReply, isStopping)
  const writeReply = (exchange: Exchange, reply: Reply) => {
    const { status, headers, body, length } = reply
    const head = exchange.responseHeaders.concat(headers as string[])
    if (typeof body === 'string' || Buffer.isBuffer(body))
      sendWhole(exchange, status, head, { body, length }, isStopping())
    else streams.send(exchange, status, head, body)
  }
  const write = (exchange: Exchange, reply: Reply) => {
    const { response, responseHeaders } = exchange
    if (response.headersSent || response.destroyed) return
    try {
      writeReply(exchange, reply)
    } catch (thrown) {
      const failure = toErrorReply(exchange, thrown)
      if (response.headersSent) return void response.destroy()
      // Node.js refuses to send one of the headers, so all but the request id are dropped.
      responseHeaders.length = 2
      writeReply(exchange, failure)
    }
  }
  return {
    send: (exchange, reply) => {
      onWorkDone?.(exchange)
      // A server that stops first looks whether the bytes that it has read hold another request.
      if (isStopping()) setImmediate(write, exchange, reply)
      else write(exchange, reply)
    },
    cutStreams: streams.cut,
  }
}

type Whole = { readonly body: Buffer | string; readonly length: number | undefined }

/** Sends a response that is complete, and handles the unread rest of the request. `isStopping`: connections end. */
function sendWhole(
  exchange: Exchange,
  status: number,
  head: string[],
  { body, length = Buffer.byteLength(body) }: Whole,
  isStopping: boolean,
): void {
  const { raw, response, connection } = exchange
  const isUnread = !raw.complete && hasBody(raw)
  const isLast =
    (isStopping && exchange.isLatest) || (isUnread && (exchange.awaitsContinue || isTooMuch(raw, status)))
  if (status !== 304 && status !== 204) head.push('content-length', String(length))
  if (isLast && !head.includes('connection')) head.push('connection', 'close')
  response.writeHead(status, head)
  if (isUnread && connection) handleUnread(raw, isLast || head.includes('connection'))
  if (raw.method === 'HEAD') response.end()
  else response.end(body, toEncoding(body, length))
}

/** As many bytes as characters: ASCII, for which Latin-1 is the cheapest encoding. */
const toEncoding = (body: Buffer | string, length: number) => (body.length === length ? 'latin1' : 'utf8')

/** A short body is read to its end, and the connection goes on. A refused one without a length may be a long one. */
function isTooMuch({ headers }: IncomingMessage, status: number): boolean {
  const length = headers['content-length']
  return length === undefined ? status >= 400 : Number(length) > MAX_UNREAD_BYTES
}

function handleUnread(raw: IncomingMessage, isLast: boolean): void {
  const { socket } = raw
  // Node.js calls this after a response that says `connection: close`.
  if (isLast) socket.destroySoon = () => closeAfterResponse(socket)
  let read = 0
  raw.on('data', (bytes: Buffer) => {
    read += bytes.length
    if (read > MAX_UNREAD_BYTES) socket.destroy()
  })
}

/** Responses that are sent piece by piece. */
function createStreams(onFailure: (exchange: Exchange, thrown: unknown) => void, isStopping: () => boolean) {
  const open = new Set<ServerResponse>()
  return {
    send: (exchange: Exchange, status: number, head: string[], pieces: AsyncIterable<string>): void => {
      const { raw, response } = exchange
      if (isStopping() && exchange.isLatest) head.push('connection', 'close')
      response.writeHead(status, head)
      // The response to HEAD has no body, so nothing would slow the pieces down.
      if (raw.method === 'HEAD') {
        response.end()
        return
      }
      open.add(response)
      pipeline(Readable.from(pieces, { objectMode: false }), response)
        .then(() => {
          // The head was sent before the signal to stop and did not say that the connection ends.
          if (isStopping() && exchange.isLatest) raw.socket.destroySoon()
        })
        .catch((thrown) => {
          // Too late for an error response; the failure is logged.
          if (!isDisconnect(thrown)) onFailure(exchange, thrown)
        })
        .finally(() => open.delete(response))
    },
    cut: (): void => {
      for (const response of open) response.destroy()
    },
  }
}

/** A caller that disconnects in the middle is no failure. */
const isDisconnect = (thrown: unknown) =>
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(
    String((thrown as NodeJS.ErrnoException).code),
  )

/** How much is still read of a request that was refused before it had arrived. */
const MAX_UNREAD_BYTES = 64 * 1024
const CLOSE_TIMEOUT_MS = 1000

/**
 * Closes a connection after its last response. What the caller still sends is read for a moment and discarded: closing a
 * socket with unread bytes resets the connection, and the caller may lose the response. A caller that sends more has the same
 * moment to read it: for nginx, a reset is a failed node.
 */
export function closeAfterResponse(socket: Socket, lastBytes = ''): void {
  if (socket.destroyed) return
  const destroy = () => void socket.destroy()
  const timer = setTimeout(destroy, CLOSE_TIMEOUT_MS).unref()
  let read = 0
  // The parser gets nothing more.
  socket.removeAllListeners('data')
  socket.on('data', (bytes: Buffer) => {
    read += bytes.length
    if (read > MAX_UNREAD_BYTES) socket.pause()
  })
  socket.on('end', destroy)
  socket.on('error', destroy)
  socket.once('close', () => clearTimeout(timer))
  socket.end(lastBytes)
  socket.resume()
}

/** The only place where an error becomes a response. A damaged or lost store is reported wherever it is met. */
export function createToErrorReply(log: Log, onStoreFailure: (error: unknown) => void) {
  return (exchange: Exchange, thrown: unknown): Reply => {
    const error = toAppError(thrown)
    exchange.outcome = error.code
    if (error.code === 'internal_error' || isStoreFailure(thrown))
      log.failure(thrown, exchange.id, exchange.trace?.traceId)
    if (isStoreFailure(thrown)) onStoreFailure(thrown)
    const headers = Object.entries(error.headers).flat()
    if (error.errors) exchange.wrongFields = Object.keys(error.errors)
    exchange.reference = error.reference ?? exchange.reference
    return toJsonReply(toErrorBody(error, exchange.id, exchange.reference), ERRORS[error.code].status, [
      ...headers,
      'cache-control',
      'no-store',
    ])
  }
}

function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  if (isStoreFailure(thrown)) return new AppError('audit_unavailable', { cause: thrown })
  return new AppError('internal_error', { cause: thrown })
}
