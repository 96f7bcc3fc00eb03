import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { runningNow } from '../telemetry/running-clock.ts'

/** The open connections of a listener: which are in use, and which may be closed for new ones. */
export type Connections = {
  readonly find: (socket: Socket) => Connection | undefined
  readonly begin: (message: IncomingMessage) => Connection | undefined
  readonly end: (connection: Connection) => void
  /** Ends requests whose body arrives too slowly and connections that are not read, and sets a timeout for the others. */
  readonly check: (now: number) => void
  /** Closes the connections that owe nothing, and of which no part of a request has arrived. */
  readonly closeIdle: () => void
  readonly close: () => void
}

const CHECK_MS = 1000
/**
 * After this time a body must arrive at this rate. On a poor mobile network a packet may be lost three times: it is sent
 * again after 1, 2 and 4 s, and a small body that arrives then is served.
 */
const BODY_GRACE_MS = 10_000
const MIN_BYTES_PER_MS = 4.096
/** A connection that was not read, or that waited for a body, for so long is closed before a new connection is refused. */
const LATE_MS = 4000
/** A connection that owes so many responses is not read. */
const MAX_OWED = 8

type OnRead = (connection: Connection, bytes: Buffer) => void

export function watchConnections(server: Server, limits: ConnectionLimits, onRead?: OnRead): Connections {
  const all = new Map<Socket, Connection>()
  const idle = createIdleConnections()
  // Connections that were late at the last check, the oldest first.
  let late: Connection[] = []

  /** Closes the least used connection. False when all are in use. */
  const makeRoom = (): boolean => {
    const first = idle.oldest() ?? takeLate(late)
    if (first) close(first)
    return first !== undefined
  }
  const close = (connection: Connection) => {
    idle.delete(connection)
    connection.socket.destroy()
  }
  const unauthenticated = createUnauthenticatedConnections(limits, close)
  server.on('connection', (socket) => {
    if (all.size >= limits.max && !makeRoom()) return void socket.destroy()
    const address = socket.remoteAddress ?? ''
    const connection = createConnection(socket, (caller) => {
      connection.caller = caller
      if (connection.isAuthenticated) return
      connection.isAuthenticated = true
      unauthenticated.remove(connection, address)
    })
    connection.reading = read(connection, onRead)
    all.set(socket, connection)
    idle.add(connection)
    unauthenticated.add(connection, address)
    socket.once('close', () => {
      all.delete(socket)
      idle.delete(connection)
      unauthenticated.remove(connection, address)
    })
  })
  server.on('timeout', (socket) => closeStalled(socket, all.get(socket)))
  const check = (now: number) => {
    late = []
    for (const connection of all.values()) {
      armTimeout(connection, limits.stalledMs)
      const waitedMs = toWaitedMs(connection, now)
      const unreadMs = toUnreadMs(connection, now)
      if (unreadMs >= limits.stalledMs) connection.socket.destroy()
      else if (isTooSlow(connection, waitedMs)) cutOff(connection)
      else if (waitedMs > LATE_MS || unreadMs > LATE_MS) late.push(connection)
    }
  }
  // While our process stands still, a body may arrive and is not read.
  const timer = setInterval(() => check(runningNow()), CHECK_MS).unref()
  return {
    find: (socket) => all.get(socket),
    begin: (message) => {
      const connection = all.get(message.socket)
      if (!connection) return undefined
      if (connection.pending === 0) idle.delete(connection)
      connection.pending += 1
      connection.hasTurn = false
      connection.latest = message
      return connection
    },
    end: (connection) => {
      connection.pending -= 1
      connection.reading?.goOn()
      if (connection.pending > 0 || connection.socket.destroyed) return
      if (connection.latest?.complete) connection.latest = undefined
      connection.readWhenIdle = connection.socket.bytesRead
      idle.add(connection)
      connection.whenIdle?.()
    },
    check,
    closeIdle: () => idle.all().filter(isAtRest).forEach(close),
    close: () => clearInterval(timer),
  }
}

/** The longest idle first; those without a valid key before the others. */
function createIdleConnections() {
  const unauthenticated = new Set<Connection>()
  const authenticated = new Set<Connection>()
  const setOf = ({ isAuthenticated }: Connection) => (isAuthenticated ? authenticated : unauthenticated)
  return {
    add: (connection: Connection) => void setOf(connection).add(connection),
    delete: (connection: Connection) => void setOf(connection).delete(connection),
    all: (): Connection[] => [...unauthenticated, ...authenticated],
    oldest: (): Connection | undefined => {
      const [first] = unauthenticated.size > 0 ? unauthenticated : authenticated
      return first
    },
  }
}

const createConnection = (
  socket: Socket,
  markAuthenticated: Connection['markAuthenticated'],
): Connection => ({
  socket,
  openedAt: performance.now(),
  pending: 0,
  latest: undefined,
  slow: undefined,
  held: undefined,
  unread: undefined,
  readWhenIdle: socket.bytesRead,
  reading: undefined,
  isPaused: false,
  hasTurn: false,
  caller: undefined,
  isAuthenticated: false,
  markAuthenticated,
  hasReservation: false,
  account: undefined,
  whenIdle: undefined,
})

/**
 * A timeout for each request would cost more than its route, so only requests that last until a check get one. It ends
 * with the request: Node.js sets the one for idle connections then.
 */
function armTimeout({ socket, pending, latest }: Connection, stalledMs: number): void {
  const isInUse = pending > 0 || latest !== undefined || socket.bytesWritten === 0
  // A connection in memory has no timeout.
  if (isInUse && !socket.timeout) socket.setTimeout?.(stalledMs)
}

function closeStalled(socket: Socket, connection: Connection | undefined): void {
  if (!connection || !isResponseDue(connection)) socket.destroy()
}

/** Also when 64 KiB wait to be sent, the high-water mark of a socket. */
const isFull = ({ pending, isPaused, socket }: Connection) =>
  pending >= MAX_OWED || isPaused || socket.writableNeedDrain

const read = (connection: Connection, onRead: OnRead = () => {}) =>
  readInTurns(
    connection.socket,
    (bytes) => {
      if (bytes && connection.pending === 0) onRead(connection, bytes)
      return isFull(connection)
    },
    () => isArriving(connection),
  )

function takeLate(late: Connection[]): Connection | undefined {
  let next = late.shift()
  while (next && !isArriving(next) && next.socket.writableLength === 0) next = late.shift()
  return next
}

/**
 * `closeIdleConnections` of Node.js would also close a connection whose response is made and not sent yet, and one whose further
 * requests are not read yet.
 */
const isAtRest = ({ socket, reading, readWhenIdle }: Connection) =>
  !reading?.isHeld() &&
  socket.readableLength + socket.writableLength === 0 &&
  socket.bytesRead === readWhenIdle

/** A part of its latest request has not arrived. */
export const isArriving = ({ latest }: Connection) => latest !== undefined && !latest.complete

/** For how long a body has been incomplete, counted from the first check that saw it. While we do not read it, none is late. */
function toWaitedMs(connection: Connection, now: number): number {
  const { socket, latest, slow, reading } = connection
  if (!latest || latest.complete || reading?.isHeld()) {
    connection.slow = undefined
    connection.held = latest
    return 0
  }
  if (slow?.message === latest) return now - slow.since
  connection.slow = { message: latest, since: now, bytes: socket.bytesRead }
  return 0
}

/** Of an open socket. The system takes a long response in steps, which only these numbers show. */
type Handle = { readonly bytesWritten: number; readonly writeQueueSize: number }

/** A caller that does not take so much, or all, within the time is cut off: a few bytes now and then are not reading. */
const MIN_TAKEN = 16 * 1024

/**
 * For how long the caller has taken nearly nothing of what is to be sent, counted from the first check that saw it. The timeout of
 * the socket would not do: it begins anew once when a part of a response was taken.
 */
function toUnreadMs(connection: Connection, now: number): number {
  const { socket, unread } = connection
  const handle = (socket as Socket & { readonly _handle?: Handle | null })._handle
  if (socket.writableLength === 0 || !handle) {
    connection.unread = undefined
    return 0
  }
  const taken = handle.bytesWritten - handle.writeQueueSize
  if (unread && taken - unread.taken < MIN_TAKEN) return now - unread.since
  connection.unread = { taken, since: now }
  return 0
}

function isTooSlow({ socket, slow }: Connection, waitedMs: number): boolean {
  const lateMs = waitedMs - BODY_GRACE_MS
  return lateMs > 0 && slow !== undefined && socket.bytesRead - slow.bytes < lateMs * MIN_BYTES_PER_MS
}

/** The reader of the body answers 408. A body without a reader ends with its connection. */
function cutOff({ latest, socket }: Connection): void {
  if (!latest?.emit('timeout')) socket.destroy()
}

export type Connection = {
  readonly socket: Socket
  readonly openedAt: number
  /** Requests that were read and whose responses are not sent yet. */
  pending: number
  /** The request that was read last. */
  latest: IncomingMessage | undefined
  /** A request whose body was incomplete at a check: when that was first seen, and how much was read by then. */
  slow: { readonly message: IncomingMessage; readonly since: number; readonly bytes: number } | undefined
  /** A request whose body was not read any further at a check: its time limit is that of `slow`, which begins anew then. */
  held: IncomingMessage | undefined
  /** Bytes that the caller had not taken at a check: when that was first seen, and how many it had taken by then. */
  unread: { readonly since: number; readonly taken: number } | undefined
  /** The bytes that were read when it became idle. More: a part of a request has arrived. */
  readWhenIdle: number
  reading: Reading | undefined
  /** See overload.ts. */
  isPaused: boolean
  /** It was paused and is read again: its next request is not held. */
  hasTurn: boolean
  /** Who was authenticated on it last, and by which header. */
  caller: ConnectionCaller | undefined
  /** A valid key was presented on it: it is the last to be closed for lack of room. */
  isAuthenticated: boolean
  readonly markAuthenticated: (caller: ConnectionCaller) => void
  /** A slot in the queue of overload.ts is held for its next request. */
  hasReservation: boolean
  /** The account of the console whose requests arrive on it. Set inside this process, never by a request. */
  account: string | undefined
  /** Called once when all responses are sent. */
  whenIdle: (() => void) | undefined
}

type ConnectionCaller = { readonly lineage: string; readonly authorization: string }

/** The caller has read all that was sent, and waits for a response. */
const isResponseDue = ({ pending, socket }: Connection) => pending > 0 && socket.writableLength === 0

export type ConnectionLimits = {
  readonly max: number
  /** Connections of one address on which no valid key was presented. */
  readonly unauthenticatedPerAddress: number
  /** A proxy opens the connections of many callers. */
  readonly isProxy: (address: string) => boolean
  /** A connection without traffic for so long is closed, unless its response is still being made. */
  readonly stalledMs: number
}

/** A connection has so long to present its key before it may be closed for another one of its address. */
const GRACE_MS = 3000

/**
 * The connections on which no valid key was presented, by address. Above the limit, the oldest is closed
 * that is idle or does not read its responses.
 */
function createUnauthenticatedConnections(limits: ConnectionLimits, close: (connection: Connection) => void) {
  const byAddress = new Map<string, Set<Connection>>()
  const closeOldest = (connections: ReadonlySet<Connection>) => {
    const before = performance.now() - GRACE_MS
    for (const connection of connections) {
      if (connection.openedAt > before) return
      if (isResponseDue(connection)) continue
      close(connection)
      return
    }
  }
  return {
    add: (connection: Connection, address: string): void => {
      if (limits.isProxy(address)) return
      const connections = byAddress.get(address) ?? new Set()
      byAddress.set(address, connections.add(connection))
      if (connections.size > limits.unauthenticatedPerAddress) closeOldest(connections)
    },
    remove: (connection: Connection, address: string): void => {
      const connections = byAddress.get(address)
      connections?.delete(connection)
      if (connections?.size === 0) byAddress.delete(address)
    },
  }
}

/** Ends the head of a request. The last chunk of a body ends so, too. */
const HEAD_END = Buffer.from('\r\n\r\n')
const [CR, LF] = [13, 10]
/** A body may consist of empty lines. In smaller pieces, a megabyte of them would take the parser a second. */
const MIN_OF_BODY = 512

export type Reading = {
  /** The connection owes too much: what its caller sends waits. */
  readonly isHeld: () => boolean
  /** To be called when it may owe less. */
  readonly goOn: () => void
}

/**
 * Gives the parser of Node.js one request at a time until `isFull`, and puts the rest back. Node.js stops reading a caller that
 * does not read its responses, but only between two reads: it would begin all requests in a read of 64 KiB, thousands, in one
 * turn of the event loop, and keep their responses. A held connection goes on in another turn, when it is no longer full.
 */
export function readInTurns(
  socket: Socket,
  isFull: (next?: Buffer) => boolean,
  isInBody: () => boolean,
): Reading {
  const [parse] = socket.listeners('data')
  if (!parse) throw new Error('the connection has no parser')
  let isHeld = false
  /** Node.js pauses it, too: for a body whose reader is slow. It also resumes it, and then the bytes are put back again. */
  const mustWait = (next: Buffer) => {
    isHeld ||= isFull(next)
    if (isHeld) socket.pause()
    return socket.isPaused()
  }
  const onData = (bytes: Buffer) => {
    let rest = bytes
    do {
      if (mustWait(rest)) return void socket.unshift(rest)
      const end = findEnd(rest, isInBody() ? MIN_OF_BODY : 0)
      parse.call(socket, rest.subarray(0, end))
      rest = rest.subarray(end)
      // After CONNECT, or bytes that are not HTTP, nothing more is parsed.
    } while (rest.length > 0 && socket.listenerCount('data', onData) > 0)
  }
  socket.removeListener('data', parse as typeof onData)
  socket.on('data', onData)
  let isResuming = false
  const resume = () => {
    isResuming = false
    if (isFull()) return
    isHeld = false
    socket.resume()
  }
  const goOn = () => {
    if (!isHeld || isResuming || isFull()) return
    isResuming = true
    setImmediate(resume)
  }
  socket.on('drain', goOn)
  return { isHeld: () => isHeld, goOn }
}

/** The end of the first request, or of its head if others follow. The end of the bytes if they hold no second head. */
function findEnd(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(HEAD_END, from)
  if (end === -1) return bytes.length
  let next = end + HEAD_END.length
  // Empty lines before a request mean nothing, and begin none.
  while (bytes[next] === CR || bytes[next] === LF) next += 1
  return bytes.indexOf(HEAD_END, next) === -1 ? bytes.length : next
}
