import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, ERRORS, type ErrorCode, toErrorBody } from '../errors.ts'
import type { Log } from '../log.ts'
import { isStoreFailure } from '../store/failure.ts'
import { toRequestId } from './request-id.ts'
import { stateOf } from './request-state.ts'

/** Fastify's own errors, in our words. */
const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  404: 'not_found',
  414: 'not_found',
}

/** The one place where an error becomes an answer. */
export function createErrorHandler(log: Log, onStoreFailure: (error: unknown) => void = () => {}) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const error = toAppError(thrown)
    const { status } = ERRORS[error.code]
    stateOf(request).outcome = error.code
    if (error.code === 'internal_error' || isStoreFailure(thrown)) log.failure(thrown, request.id)
    if (isStoreFailure(thrown)) onStoreFailure(thrown)
    void reply
      .code(status)
      .headers(error.headers)
      .header('cache-control', 'no-store')
      .send(toErrorBody(error, request.id))
  }
}

function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  if (isStoreFailure(thrown)) return new AppError('audit_unavailable', { cause: thrown })
  const { statusCode, code } = thrown as { statusCode?: number; code?: string }
  const known = code?.startsWith('FST_') && statusCode !== undefined ? CODE_OF_STATUS[statusCode] : undefined
  return new AppError(known ?? 'internal_error', { cause: thrown })
}

/** 405 with Allow where the address exists for another method, else 404. */
export function createNotFoundHandler(routes: readonly { path: string; methods: readonly string[] }[]) {
  const patterns = routes.map(({ path, methods }) => ({
    pattern: new RegExp(`^${path.replace(/:[a-z]+/g, '[^/]+').replaceAll('.', '\\.')}$`),
    allow: methods.join(', '),
  }))
  return (request: FastifyRequest): never => {
    const path = request.url.split('?', 1)[0] ?? ''
    const known = patterns.find(({ pattern }) => pattern.test(path))
    throw known
      ? new AppError('method_not_allowed', { headers: { allow: known.allow } })
      : new AppError('not_found')
  }
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
export function answerBrokenRequest(
  this: FastifyInstance,
  error: Error & { code?: string },
  socket: Socket,
): void {
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
