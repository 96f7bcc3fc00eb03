import type { Socket } from 'node:net'

/** What is still read of a request that was refused before it had arrived. */
export const MOST_UNREAD_BYTES = 64 * 1024
const LINGER_MS = 1000

/**
 * Closes a connection after its last answer. What the caller still sends is read for a moment and thrown away: a socket
 * that is closed with unread bytes resets the connection, and the caller may lose the answer.
 */
export function closeAfterAnswer(socket: Socket, lastBytes = ''): void {
  if (socket.destroyed) return
  const destroy = () => void socket.destroy()
  const timer = setTimeout(destroy, LINGER_MS).unref()
  let read = 0
  // The parser gets nothing more.
  socket.removeAllListeners('data')
  socket.on('data', (bytes: Buffer) => {
    read += bytes.length
    if (read > MOST_UNREAD_BYTES) destroy()
  })
  socket.on('end', destroy)
  socket.on('error', destroy)
  socket.once('close', () => clearTimeout(timer))
  socket.end(lastBytes)
  socket.resume()
}
