import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
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

/** One listener for each server of the address, in the same order. */
export async function openPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const urls = toDatabaseUrls(databaseUrl)
  const states = urls.map((): ProxyState => ({ conduct: 'pass', pairs: new Set() }))
  const listeners = await Promise.all(
    urls.map((url, index) => openListener(url, states[index] as ProxyState)),
  )
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port)
  return {
    databaseUrl: toProxyUrl(urls[0], ports),
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
    },
  }
}

type Pair = { readonly inner: Socket; outer: Socket | undefined }
type ProxyState = { conduct: Conduct; readonly pairs: Set<Pair> }

function setConduct(state: ProxyState, conduct: Conduct): void {
  state.conduct = conduct
  for (const pair of state.pairs) applyConduct(pair, conduct)
}

/** The proxy speaks TLS to the server, and none to this machine. */
const OWN_TO_PROXY = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'host', 'port']

function toProxyUrl(url: URL, ports: readonly number[]): string {
  const params = new URLSearchParams(url.searchParams)
  for (const name of OWN_TO_PROXY) params.delete(name)
  const user = url.username === '' ? '' : `${url.username}${url.password && `:${url.password}`}@`
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')
  return `postgres://${user}${hosts}${url.pathname}${params.size > 0 ? `?${params}` : ''}`
}

async function openListener(url: URL, state: ProxyState) {
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
    joinPair(pair, url, state).catch(() => inner.destroy())
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  return listener
}

async function joinPair(pair: Pair, url: URL, state: ProxyState): Promise<void> {
  const { inner } = pair
  const outer = await openOuter(url)
  pair.outer = outer
  outer.on('error', () => {}).once('close', () => inner.destroy())
  // Without pipes: a paused pipe would still pass on an end.
  const pass = (from: Socket, to: Socket) => {
    from.on('data', (piece) => {
      if (!to.write(piece)) from.pause()
    })
    to.on('drain', () => state.conduct === 'pass' && from.resume())
  }
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

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

async function openOuter(url: URL): Promise<Socket> {
  const { searchParams } = url
  const folder = searchParams.get('host')
  const port = Number(url.port || searchParams.get('port') || 5432)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost'
  const socket = folder?.startsWith('/')
    ? connect({ path: `${folder}/.s.PGSQL.${port}` })
    : connect({ host: folder ?? host, port })
  await once(socket, 'connect')
  const mode = searchParams.get('sslmode') ?? (searchParams.get('ssl') === 'true' ? 'verify-full' : 'disable')
  if (mode === 'disable') return socket
  socket.write(SSL_REQUEST)
  const [reply] = (await once(socket, 'data')) as [Buffer]
  if (reply.toString('latin1', 0, 1) !== 'S') throw new Error('PostgreSQL has no TLS')
  const file = (name: string) => {
    const path = searchParams.get(name)
    return path === null ? undefined : readFileSync(path)
  }
  const secure = process.getBuiltinModule('node:tls').connect({
    socket,
    servername: folder ?? host,
    ca: file('sslrootcert'),
    cert: file('sslcert'),
    key: file('sslkey'),
    rejectUnauthorized: mode !== 'no-verify',
  })
  await once(secure, 'secureConnect')
  return secure
}
