import type { Socket } from 'node:net'
import { AppError, ERRORS, type ErrorCode, toErrorBody } from '../errors.ts'
import { closeAfterResponse } from './close-after-response.ts'
import type { Connection } from './connection.ts'
import type { Hooks } from './hooks.ts'
import { nodeHttp } from './node-http.ts'
import { toHeadText } from './prepared-head.ts'
import { toRequestId } from './request-id.ts'

const CODE_OF_SOCKET_ERROR: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Responses in our shape to what Node.js does not pass on as a request. */
export function createBrokenRequestHandlers(
  find: (socket: Socket) => Connection | undefined,
  onBrokenRequest: Hooks['onBrokenRequest'] = () => {},
  everyHeader: readonly string[] = [],
) {
  const everyLine = toHeadText(everyHeader)
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

const isArriving = ({ latest }: Connection) => latest !== undefined && !latest.complete

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
