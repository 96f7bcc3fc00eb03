import type { IncomingMessage } from 'node:http'
import { hasBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import { closeAfterAnswer, MOST_UNREAD_BYTES } from './linger.ts'

/** Sends an answer that is there as a whole, and sees to what is left of the request. `isStopping`: connections end. */
export function sendWhole(
  exchange: Exchange,
  status: number,
  head: string[],
  body: Buffer | string,
  isStopping: boolean,
): void {
  const { raw, response, connection } = exchange
  const isUnread = !raw.complete && hasBody(raw)
  // Of several requests that came at once, the last one ends the connection.
  const isLast =
    (isStopping && (!connection || connection.latest === raw)) || (isUnread && isTooMuch(raw, status))
  if (status !== 304) head.push('content-length', String(Buffer.byteLength(body)))
  if (isLast && !head.includes('connection')) head.push('connection', 'close')
  if (isUnread && connection) handleUnread(raw, isLast || head.includes('connection'))
  response.writeHead(status, head)
  response.end(raw.method === 'HEAD' ? undefined : body)
}

/** A short body is read to its end, and the connection goes on. A refused one without a length may be a long one. */
function isTooMuch({ headers }: IncomingMessage, status: number): boolean {
  const length = headers['content-length']
  return length === undefined ? status >= 400 : Number(length) > MOST_UNREAD_BYTES
}

function handleUnread(raw: IncomingMessage, isLast: boolean): void {
  const { socket } = raw
  // Node.js closes the connection by this after an answer that says so.
  if (isLast) socket.destroySoon = () => closeAfterAnswer(socket)
  let read = 0
  raw.on('data', (bytes: Buffer) => {
    read += bytes.length
    if (read > MOST_UNREAD_BYTES) socket.destroy()
  })
}
