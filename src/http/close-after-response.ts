import type { Socket } from 'node:net'

/** How much is still read of a request that was refused before it had arrived. */
export const MAX_UNREAD_BYTES = 64 * 1024
const CLOSE_TIMEOUT_MS = 1000

/**
 * Closes a connection after its last response. What the caller still sends is read for a moment and discarded: closing a
 * socket with unread bytes resets the connection, and the caller may lose the response.
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
    if (read > MAX_UNREAD_BYTES) destroy()
  })
  socket.on('end', destroy)
  socket.on('error', destroy)
  socket.once('close', () => clearTimeout(timer))
  socket.end(lastBytes)
  socket.resume()
}
