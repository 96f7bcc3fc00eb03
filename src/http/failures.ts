import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, ERRORS, type ErrorCode, toErrorBody } from '../errors.ts'
import { isStoreFailure } from '../store/failure.ts'
import type { Log } from '../telemetry/log.ts'
import type { Connection } from './connection.ts'
import { type Exchange, type Reply, toJsonReply } from './exchange.ts'
import { closeAfterAnswer } from './linger.ts'
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
export function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Socket,
  connection: Connection | undefined,
): void {
  if (socket.destroyed || error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  answerLast(socket, connection, toLastAnswer(CODE_OF_SOCKET_ERROR[error.code ?? ''] ?? 'malformed_request'))
}

/** The requests before it are answered first: an answer out of its turn would be taken for theirs. */
function answerLast(socket: Socket, connection: Connection | undefined, bytes: string): void {
  if (!connection || !hasAnswersDue(connection)) {
    closeAfterAnswer(socket, bytes)
    return
  }
  socket.removeAllListeners('data')
  connection.whenIdle = () => closeAfterAnswer(socket, bytes)
}

/** Whether answers are due to requests other than the one that is still arriving. */
const hasAnswersDue = ({ underWay, latest }: Connection) => underWay > (latest && !latest.complete ? 1 : 0)

/** We are no proxy. What follows such a request is not HTTP, so the connection ends with the answer. */
export function answerConnect(
  socket: Socket,
  connection: Connection | undefined,
  methods: Iterable<string>,
): void {
  const bytes = toLastAnswer('method_not_allowed', `Allow: ${[...methods].join(', ')}\r\n`)
  answerLast(socket, connection, bytes)
}

/** An answer in our shape where there is no request to answer, as bytes. */
function toLastAnswer(code: ErrorCode, headers = ''): string {
  const requestId = toRequestId(undefined)
  const { status } = ERRORS[code]
  const body = JSON.stringify(toErrorBody(new AppError(code), requestId))
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n${headers}` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`
  )
}
