import type { Socket } from 'node:net'

const INFORMATIONAL = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/
const START_LENGTH = 'HTTP/1.1 100 '.length
const MAX_LENGTH = 16 * 1024
const END = Buffer.from('\r\n\r\n')

/**
 * Drops every informational answer (100 Continue, 102, 103) that a server sends before its answer. RFC 9110 allows them without being
 * asked; at a 100 undici closes the connection, and a look-up that is paid for is lost.
 */
export function dropInformational(socket: Socket): void {
  // HTTP/2 does not read through the stream, and accepts them.
  if ((socket as { alpnProtocol?: unknown }).alpnProtocol === 'h2') return
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean
  /** The beginning of the answer, while it may still be one of them; undefined behind it. */
  let held: Buffer | undefined
  socket.write = (...given: unknown[]) => {
    // One request at a time: what is read next is the beginning of its answer.
    held = Buffer.alloc(0)
    return write(...given)
  }
  socket.read = (size?: number) => {
    const piece: Buffer | null = read(size)
    if (held === undefined || piece === null) return piece
    const rest = skipInformational(Buffer.concat([held, piece]))
    held = mayBeInformational(rest) ? rest : undefined
    return held === undefined ? rest : null
  }
}

/** What follows the complete ones. */
function skipInformational(bytes: Buffer): Buffer {
  let rest = bytes
  while (INFORMATIONAL.test(rest.toString('latin1', 0, START_LENGTH))) {
    const end = rest.indexOf(END)
    if (end === -1) break
    rest = rest.subarray(end + END.length)
  }
  return rest
}

/** Whether more must be read to know it, or to find its end. */
function mayBeInformational(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, START_LENGTH)
  if (start.length < START_LENGTH) return INFORMATIONAL.test(start + 'HTTP/1.1 100 '.slice(start.length))
  return INFORMATIONAL.test(start) && bytes.length < MAX_LENGTH
}
