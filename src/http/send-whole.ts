import type { IncomingMessage } from 'node:http'
import { hasBody } from './body.ts'
import { closeAfterResponse, MAX_UNREAD_BYTES } from './close-after-response.ts'
import type { Exchange, Reply } from './exchange.ts'
import { sendPreparedHead } from './prepared-head.ts'

/** Sends a response that is complete, and handles the unread rest of the request. `isStopping`: connections end. */
export function sendWhole(
  exchange: Exchange,
  status: number,
  head: string[],
  body: Buffer | string,
  isStopping: boolean,
): void {
  const { raw, response, connection } = exchange
  const isUnread = !raw.complete && hasBody(raw)
  const isLast =
    (isStopping && exchange.isLatest) || (isUnread && (exchange.awaitsContinue || isTooMuch(raw, status)))
  if (status !== 304 && status !== 204) head.push('content-length', String(Buffer.byteLength(body)))
  if (isLast && !head.includes('connection')) head.push('connection', 'close')
  response.writeHead(status, head)
  if (isUnread && connection) handleUnread(raw, isLast || head.includes('connection'))
  response.end(raw.method === 'HEAD' ? undefined : body)
}

/** Sends a 200 with prepared headers. False: nothing was sent, use `sendWhole`. */
export function sendPrepared(exchange: Exchange, headText: string, { body, length: known }: Reply): boolean {
  const { raw, response } = exchange
  const isWhole = typeof body === 'string' || Buffer.isBuffer(body)
  if (!isWhole || raw.method === 'HEAD' || (!raw.complete && hasBody(raw))) return false
  const length = known ?? Buffer.byteLength(body)
  if (!sendPreparedHead(exchange, headText, length)) return false
  // As many bytes as characters: ASCII, for which Latin-1 is the cheapest encoding.
  response.end(body, body.length === length ? 'latin1' : 'utf8')
  return true
}

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
