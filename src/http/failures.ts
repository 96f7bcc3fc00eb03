import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { AppError, ERRORS, type ErrorCode, toErrorBody } from '../errors.ts'
import type { Log } from '../log.ts'
import { isStoreFailure } from '../store/failure.ts'
import { type Exchange, type Reply, toJsonReply } from './exchange.ts'
import { toRequestId } from './request-id.ts'

/** The one place where an error becomes an answer. A damaged or lost store that is met anywhere is made known. */
export function createFail(log: Log, onStoreFailure: (error: unknown) => void) {
  return (exchange: Exchange, thrown: unknown): Reply => {
    const error = toAppError(thrown)
    exchange.outcome = error.code
    if (error.code === 'internal_error' || isStoreFailure(thrown)) log.failure(thrown, exchange.id)
    if (isStoreFailure(thrown)) onStoreFailure(thrown)
    const headers = Object.entries(error.headers).flat()
    return toJsonReply(toErrorBody(error, exchange.id), ERRORS[error.code].status, [
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

const CODE_OF_SOCKET_ERROR: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** We know no expectation but 100-continue. */
export function answerExpectation(_message: IncomingMessage, response: ServerResponse): void {
  const requestId = toRequestId(undefined)
  const body = JSON.stringify(toErrorBody(new AppError('malformed_request'), requestId))
  response.writeHead(ERRORS.malformed_request.status, {
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': requestId,
    connection: 'close',
  })
  response.end(body)
}

/** What cannot be parsed as HTTP never becomes a request, and still gets an answer in our shape. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Duplex): void {
  if (socket.destroyed || error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const failure = new AppError(CODE_OF_SOCKET_ERROR[error.code ?? ''] ?? 'malformed_request')
  const requestId = toRequestId(undefined)
  const body = JSON.stringify(toErrorBody(failure, requestId))
  const head = [
    `HTTP/1.1 ${ERRORS[failure.code].status} Error`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
