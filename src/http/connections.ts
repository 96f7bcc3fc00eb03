import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { createStrangers } from './strangers.ts'

export type Connection = {
  readonly socket: Socket
  readonly openedAt: number
  /** Requests that were read and whose answers are not sent yet. */
  underWay: number
  /** The request that was read last. */
  latest: IncomingMessage | undefined
  /** A request whose body had not arrived when that was looked at first, when that was, and how much was read by then. */
  slow: { readonly message: IncomingMessage; readonly since: number; readonly bytes: number } | undefined
  isKnown: boolean
  /** A valid key was presented on it: it is the last to be closed for lack of room. */
  readonly know: () => void
  /** Done once when all answers are sent. */
  whenIdle: (() => void) | undefined
}

export type ConnectionLimits = {
  readonly most: number
  /** Connections of one address on which no valid key was presented. */
  readonly strangersPerAddress: number
  /** Proxies bring the connections of many. */
  readonly isProxy: (address: string) => boolean
}

/** The open connections of a listener: which are in use, and which may be closed to make room. */
export type Connections = {
  readonly find: (socket: Socket) => Connection | undefined
  readonly begin: (message: IncomingMessage) => Connection | undefined
  readonly end: (connection: Connection) => void
  /** Ends requests whose body arrives too slowly. */
  readonly cutSlowBodies: (now: number) => void
  readonly close: () => void
}

const CHECK_MS = 1000
/** A body is given so long, and after that must arrive at this rate. */
const BODY_GRACE_MS = 4000
const LEAST_BYTES_PER_MS = 4.096

export function watchConnections(server: Server, limits: ConnectionLimits): Connections {
  const all = new Map<Socket, Connection>()
  // Those without a request under way, the longest idle first.
  const idleStrangers = new Set<Connection>()
  const idleKnown = new Set<Connection>()

  const rest = (connection: Connection) => (connection.isKnown ? idleKnown : idleStrangers).add(connection)
  const use = (connection: Connection) => (connection.isKnown ? idleKnown : idleStrangers).delete(connection)
  /** Closes what is in use least. */
  const makeRoom = (): boolean => {
    const [first] = idleStrangers.size > 0 ? idleStrangers : idleKnown
    if (!first) return false
    drop(first)
    return true
  }
  const drop = (connection: Connection) => {
    use(connection)
    connection.socket.destroy()
  }
  const strangers = createStrangers(limits, drop)
  server.on('connection', (socket) => {
    if (all.size >= limits.most && !makeRoom()) {
      socket.destroy()
      return
    }
    const address = socket.remoteAddress ?? ''
    const connection = create(socket, () => {
      if (connection.isKnown) return
      connection.isKnown = true
      strangers.remove(connection, address)
    })
    all.set(socket, connection)
    rest(connection)
    strangers.add(connection, address)
    socket.once('close', () => {
      all.delete(socket)
      use(connection)
      strangers.remove(connection, address)
    })
  })
  const cutSlowBodies = (now: number) => {
    for (const connection of all.values()) if (isTooSlow(connection, now)) cut(connection)
  }
  const timer = setInterval(() => cutSlowBodies(performance.now()), CHECK_MS).unref()
  return {
    find: (socket) => all.get(socket),
    begin: (message) => {
      const connection = all.get(message.socket)
      if (!connection) return undefined
      if (connection.underWay === 0) use(connection)
      connection.underWay += 1
      connection.latest = message
      return connection
    },
    end: (connection) => {
      connection.underWay -= 1
      if (connection.underWay > 0 || connection.socket.destroyed) return
      if (connection.latest?.complete) connection.latest = undefined
      rest(connection)
      connection.whenIdle?.()
    },
    cutSlowBodies,
    close: () => clearInterval(timer),
  }
}

const create = (socket: Socket, know: () => void): Connection => ({
  socket,
  openedAt: performance.now(),
  underWay: 0,
  latest: undefined,
  slow: undefined,
  isKnown: false,
  know,
  whenIdle: undefined,
})

function isTooSlow(connection: Connection, now: number): boolean {
  const { socket, latest, slow } = connection
  if (!latest || latest.complete) return false
  if (slow?.message !== latest) {
    connection.slow = { message: latest, since: now, bytes: socket.bytesRead }
    return false
  }
  const lateMs = now - slow.since - BODY_GRACE_MS
  return lateMs > 0 && socket.bytesRead - slow.bytes < lateMs * LEAST_BYTES_PER_MS
}

/** Who waits for the body answers 408; a body that is not wanted any more ends with its connection. */
function cut({ latest, socket }: Connection): void {
  if (!latest?.emit('timeout')) socket.destroy()
}
