import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Connection, ConnectionLimits } from './connection.ts'
import { createStrangers } from './strangers.ts'

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
/**
 * A body is given so long, and after that must arrive at this rate. On a poor mobile network a packet may be lost three
 * times: it is sent again after 1, 2 and 4 s, and a small body that arrives then is served.
 */
const BODY_GRACE_MS = 10_000
const LEAST_BYTES_PER_MS = 4.096
/** A request that has waited so long for its body is closed before a new connection is refused. */
const LATE_MS = 4000

export function watchConnections(server: Server, limits: ConnectionLimits): Connections {
  const all = new Map<Socket, Connection>()
  // Those without a request under way, the longest idle first.
  const idleStrangers = new Set<Connection>()
  const idleKnown = new Set<Connection>()
  // Those whose body was late when that was last looked at, the oldest connection first.
  let late: Connection[] = []

  const rest = (connection: Connection) => (connection.isKnown ? idleKnown : idleStrangers).add(connection)
  const use = (connection: Connection) => (connection.isKnown ? idleKnown : idleStrangers).delete(connection)
  /** Closes what is in use least. */
  const makeRoom = (): boolean => {
    const [idle] = idleStrangers.size > 0 ? idleStrangers : idleKnown
    const first = idle ?? takeArriving(late)
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
  server.setTimeout(limits.stalledMs).on('timeout', (socket) => {
    if (!isAnswerDue(all.get(socket))) socket.destroy()
  })
  const cutSlowBodies = (now: number) => {
    late = []
    for (const connection of all.values()) {
      const waitedMs = toWaited(connection, now)
      if (isTooSlow(connection, waitedMs)) cut(connection)
      else if (waitedMs > LATE_MS) late.push(connection)
    }
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
  hasSeat: false,
  know,
  whenIdle: undefined,
})

/** The caller has read all that was sent, and waits for us. */
const isAnswerDue = (connection: Connection | undefined) =>
  connection !== undefined && connection.underWay > 0 && connection.socket.writableLength === 0

function takeArriving(late: Connection[]): Connection | undefined {
  let next = late.shift()
  while (next && !isArriving(next)) next = late.shift()
  return next
}

const isArriving = ({ latest }: Connection) => latest !== undefined && !latest.complete

/** How long a body has not arrived since that was looked at first. */
function toWaited(connection: Connection, now: number): number {
  const { socket, latest, slow } = connection
  if (!latest || latest.complete) return 0
  if (slow?.message === latest) return now - slow.since
  connection.slow = { message: latest, since: now, bytes: socket.bytesRead }
  return 0
}

function isTooSlow({ socket, slow }: Connection, waitedMs: number): boolean {
  const lateMs = waitedMs - BODY_GRACE_MS
  return lateMs > 0 && slow !== undefined && socket.bytesRead - slow.bytes < lateMs * LEAST_BYTES_PER_MS
}

/** Who waits for the body answers 408; a body that is not wanted any more ends with its connection. */
function cut({ latest, socket }: Connection): void {
  if (!latest?.emit('timeout')) socket.destroy()
}
