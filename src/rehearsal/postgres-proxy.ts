import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, isIP, type Socket } from 'node:net'
import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { type PostgresLogin as Login, readLogins } from '../database/postgres-login.ts'
import { toDatabaseUrls } from '../settings/database-url.ts'

/** `cut`: connections are closed, and new ones too. `silent`: nothing is passed on, and nothing is closed. */
type Conduct = 'pass' | 'cut' | 'silent'

/** Stands between the servers on the copy and PostgreSQL, so that it can be away without touching it. */
export type PostgresProxy = {
  /** The address for the servers on the copy, on this machine. */
  readonly databaseUrl: string
  /** How many servers the address names. */
  readonly servers: number
  readonly setConduct: (conduct: Conduct) => void
  /** Cuts the server that has most of the connections, until the returned function is called. */
  readonly cutServerInUse: () => () => void
  readonly close: () => Promise<void>
}

/**
 * One listener for each server of the address, in the same order: sockets in a folder that only this user can enter, because the proxy
 * connects with the rights of this user.
 */
export async function openPostgresProxy(databaseUrl: string, folder: string): Promise<PostgresProxy> {
  const urls = toDatabaseUrls(databaseUrl)
  const logins = await readLogins(databaseUrl)
  const sockets = openSocketFolder(folder)
  const states = urls.map((): ProxyState => ({ conduct: 'pass', pairs: new Set() }))
  const listeners = await Promise.all(
    logins.map((login, index) =>
      openListener(toSocketPath(sockets.path, index), login, states[index] as ProxyState),
    ),
  )
  return {
    databaseUrl: toProxyUrl(urls[0], logins, sockets.path),
    servers: urls.length,
    setConduct: (conduct) => {
      for (const state of states) setConduct(state, conduct)
    },
    cutServerInUse: () => {
      const [used] = states.toSorted((a, b) => b.pairs.size - a.pairs.size)
      if (used) setConduct(used, 'cut')
      return () => used && setConduct(used, 'pass')
    },
    close: async () => {
      for (const state of states) setConduct(state, 'cut')
      await Promise.all(
        listeners.map((listener) => {
          listener.close()
          return once(listener, 'close')
        }),
      )
      sockets.remove()
    },
  }
}

type Pair = { readonly inner: Socket; outer: Socket | undefined }
type ProxyState = { conduct: Conduct; readonly pairs: Set<Pair> }

function setConduct(state: ProxyState, conduct: Conduct): void {
  state.conduct = conduct
  for (const pair of state.pairs) applyConduct(pair, conduct)
}

/** Of the address of a socket on macOS, without its last zero byte; Linux allows four more. */
const MAX_SOCKET_BYTES = 103
/** For the length of a path only. */
const MAX_SERVERS = 99

/** As PostgreSQL names it: the number takes the place of a port. */
const toSocketPath = (folder: string, index: number) => join(folder, `.s.PGSQL.${index + 1}`)

/** The folder of the rehearsal; if its path is too long for sockets, another one of this user only. */
function openSocketFolder(folder: string): { readonly path: string; readonly remove: () => void } {
  const longest = toSocketPath(folder, MAX_SERVERS)
  if (Buffer.byteLength(longest) <= MAX_SOCKET_BYTES) return { path: folder, remove: () => {} }
  const path = mkdtempSync('/tmp/tabbat-rehearsal-')
  const remove = () => rmSync(path, { recursive: true, force: true })
  process.once('exit', remove)
  return { path, remove }
}

/** The proxy has the address and speaks TLS to the server, but not to the servers on the copy. */
const OWN_TO_PROXY = [
  ...['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'uselibpqcompat'],
  ...['host', 'port', 'user', 'password'],
]

function toProxyUrl(url: URL, logins: readonly Login[], folder: string): string {
  const params = new URLSearchParams(url.searchParams)
  for (const name of OWN_TO_PROXY) params.delete(name)
  params.set('sslmode', 'disable')
  const { user = '', database = '' } = logins[0] ?? {}
  const password = logins.find((login) => login.password !== undefined)?.password
  const secret = password === undefined ? '' : `:${encodeURIComponent(password)}`
  const hosts = logins.map((_login, index) => `${encodeURIComponent(folder)}:${index + 1}`).join(',')
  const path = url.pathname.length > 1 ? url.pathname : `/${encodeURI(database)}`
  return `postgres://${encodeURIComponent(user)}${secret}@${hosts}${path}?${params}`
}

async function openListener(path: string, login: Login, state: ProxyState) {
  const listener = createServer((inner) => {
    const pair: Pair = { inner, outer: undefined }
    inner.on('error', () => {})
    if (state.conduct === 'cut') return void inner.destroy()
    state.pairs.add(pair)
    inner.once('close', () => {
      state.pairs.delete(pair)
      pair.outer?.destroy()
    })
    if (state.conduct === 'silent') return
    joinPair(pair, login, state).catch(() => inner.destroy())
  })
  await once(listener.listen(path), 'listening')
  return listener
}

async function joinPair(pair: Pair, login: Login, state: ProxyState): Promise<void> {
  const { inner } = pair
  const first = await readFirst(inner)
  if (!opensCopy(first, login)) return void inner.destroy()
  const outer = await openOuter(login)
  pair.outer = outer
  outer.on('error', () => {}).once('close', () => inner.destroy())
  // Without pipes: a paused pipe would still pass on an end.
  const pass = (from: Socket, to: Socket) => {
    from.on('data', (piece) => {
      if (!to.write(piece)) from.pause()
    })
    to.on('drain', () => state.conduct === 'pass' && from.resume())
  }
  outer.write(first)
  pass(inner, outer)
  pass(outer, inner)
  if (inner.destroyed) outer.destroy()
  applyConduct(pair, state.conduct)
}

function applyConduct({ inner, outer }: Pair, conduct: Conduct): void {
  if (conduct === 'cut') inner.destroy()
  else if (conduct === 'silent') for (const socket of [inner, outer]) socket?.pause()
  // A connection that was opened while it was silent leads nowhere: its client opens another.
  else if (outer === undefined) inner.destroy()
  else for (const socket of [inner, outer]) socket.resume()
}

/** PostgreSQL itself accepts no longer first message. */
const MAX_FIRST_BYTES = 10_000

/** The first message of a connection, with whatever came after it. */
function readFirst(inner: Socket): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  let bytes = Buffer.alloc(0)
  const onData = (piece: Buffer) => {
    bytes = Buffer.concat([bytes, piece])
    if (bytes.length > MAX_FIRST_BYTES) reject(new Error('the first message is too long'))
    if (bytes.length < 4 || bytes.length < bytes.readUInt32BE(0)) return
    inner.off('data', onData).pause()
    resolve(bytes)
  }
  inner.on('data', onData).once('close', () => reject(new Error('closed')))
  return promise
}

const PROTOCOL = 3

/** Whether the message opens the copy as its user: no other database, no replication (which reads all databases), nothing else. */
export function opensCopy(message: Buffer, { user, database }: Pick<Login, 'user' | 'database'>): boolean {
  const length = message.readUInt32BE(0)
  if (length < 9 || message.readUInt16BE(4) !== PROTOCOL) return false
  const words = message.toString('latin1', 8, length).split('\0')
  const given = new Map<string, string | undefined>()
  // As PostgreSQL reads it: pairs of a name and a value, up to an empty name.
  for (let at = 0; words[at]; at += 2) {
    const name = words[at] as string
    if (given.has(name)) return false
    given.set(name, words[at + 1])
  }
  const toBytes = (text: string) => Buffer.from(text).toString('latin1')
  const isCopy = given.get('database') === toBytes(database) && given.get('user') === toBytes(user)
  return isCopy && !given.has('replication')
}

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

async function openOuter({ host, port, ssl, isDirectTls }: Login): Promise<Socket> {
  const isSocket = host.startsWith('/')
  const socket = isSocket ? connect({ path: `${host}/.s.PGSQL.${port}` }) : connect({ host, port })
  await once(socket, 'connect')
  if (ssl === false) return socket
  if (!isDirectTls) {
    socket.write(SSL_REQUEST)
    const [reply] = (await once(socket, 'data')) as [Buffer]
    if (reply.toString('latin1', 0, 1) !== 'S') throw new Error('PostgreSQL has no TLS')
  }
  const options: ConnectionOptions = ssl === true ? {} : { ...ssl, key: ssl.key }
  const secure = process.getBuiltinModule('node:tls').connect({
    ...options,
    socket,
    ...(!isSocket && { host }),
    // An address must not stand there (RFC 6066).
    ...(!isSocket && isIP(host) === 0 && { servername: host }),
    ...(isDirectTls && { ALPNProtocols: ['postgresql'] }),
  })
  await once(secure, 'secureConnect')
  return secure
}
