import type { Socket } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { afterRunning } from '../telemetry/running-clock.ts'
import { lookupPublic } from './public-address.ts'

/** How far a request has come. Before it is sent, the vendor cannot charge for it. */
export type Progress = { sent: boolean; answered: boolean }

/** No connection was made in time. */
class SlowConnection extends Error {
  readonly code = 'SLOW_CONNECTION'
}

const CONNECT_MS = 2000
const CONNECTIONS = 128

/** Connects under the rules of this program. `trusted`: also to private addresses. Every request has a deadline of its own. */
export function openAgent(trusted: boolean) {
  const agent = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    maxHeaderSize: 16 * 1024,
    // undici's own: the deadline of the request does not count time during which our process stood still.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: createConnect(trusted),
  })
  return { dispatcher: agent.compose(recordSending), close: () => agent.destroy() }
}

/** undici calls onRequestStart when it has a connection and starts to write the request. */
const recordSending: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const progress = (options as { opaque?: Progress }).opaque
  const start = handler.onRequestStart?.bind(handler)
  handler.onRequestStart = (...given) => {
    if (progress) progress.sent = true
    start?.(...given)
  }
  return dispatch(options, handler)
}

/** Connects within two seconds, DNS and TLS included. undici's own timeout may be a second late. */
function createConnect(trusted: boolean): buildConnector.connector {
  const connect = buildConnector({
    timeout: 0,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    rejectUnauthorized: true,
    ...(trusted ? {} : { lookup: lookupPublic }),
  })
  return (options, done) => {
    // buildConnector returns the socket; its type does not declare that.
    const socket = connect(options, (...result) => {
      cancel()
      if (result[1]) dropInformational(result[1])
      done(...result)
    }) as unknown as Socket
    const cancel = afterRunning(CONNECT_MS, () => socket.destroy(new SlowConnection()))
  }
}

const INFORMATIONAL = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/
const START_LENGTH = 'HTTP/1.1 100 '.length
const MAX_LENGTH = 16 * 1024
const END = Buffer.from('\r\n\r\n')

/**
 * Drops every informational answer (100 Continue, 102, 103) that a server sends before its answer. RFC 9110 allows them without being
 * asked; at a 100 undici closes the connection, and a look-up that is paid for is lost.
 */
function dropInformational(socket: Socket): void {
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
