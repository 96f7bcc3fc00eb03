import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { openPostgresProxy, opensCopy, type PostgresProxy } from '../../src/rehearsal/postgres-proxy.ts'
import { createCertificate } from '../certificate.ts'
import {
  createEmptyDatabase,
  execute,
  GUARDED_ROLE,
  hasOwnPostgres,
  hasPostgres,
  type Postgres,
  startOwnPostgres,
} from '../postgres.ts'

const closes: (() => unknown)[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closes.splice(0).toReversed()) await close()
})

const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-proxy-'))

async function open(databaseUrl: string, folder = newFolder()): Promise<PostgresProxy> {
  const proxy = await openPostgresProxy(databaseUrl, folder)
  closes.push(proxy.close)
  return proxy
}

describe.skipIf(!hasPostgres())('the proxy in front of a copy', () => {
  it('listens in its folder only, and passes on what is asked of the copy', async () => {
    const folder = newFolder()
    const databaseUrl = await createEmptyDatabase()
    const proxy = await open(databaseUrl, folder)
    const [row] = await execute(proxy.databaseUrl, 'SELECT current_database() AS name, 7 AS seven')
    expect(row).toEqual({ name: new URL(databaseUrl).pathname.slice(1), seven: 7 })
    expect(readdirSync(folder)).toEqual(['.s.PGSQL.1'])
    expect(statSync(folder).mode & 0o077).toBe(0)
  })

  it('opens no other database, and no replication', async () => {
    const proxy = await open(await createEmptyDatabase())
    const { host, port, user } = new Client({ connectionString: proxy.databaseUrl })
    const other = new Client({ host, port, user, database: 'postgres' })
    await expect(other.connect()).rejects.toThrow('Connection terminated unexpectedly')
    const replicating = new Client({ connectionString: `${proxy.databaseUrl}&replication=true` })
    await expect(replicating.connect()).rejects.toThrow('Connection terminated unexpectedly')
  })

  it('has a socket for each server of the address', async () => {
    const databaseUrl = await createEmptyDatabase()
    const { host } = new URL(databaseUrl)
    const proxy = await open(databaseUrl.replace(host, `${host},${host}`))
    expect(proxy.servers).toBe(2)
    const urls = [1, 2].map((port) =>
      proxy.databaseUrl.replace(/@.*\//, (hosts) => `${hosts.split(':')[0]}:${port}/`),
    )
    for (const url of urls) expect(await execute(url, 'SELECT 7 AS seven')).toEqual([{ seven: 7 }])
  })

  it('listens in another folder of its own if the path is too long for a socket', async () => {
    const folder = join(newFolder(), 'x'.repeat(90))
    mkdirSync(folder)
    const proxy = await openPostgresProxy(await createEmptyDatabase(), folder)
    expect(await execute(proxy.databaseUrl, 'SELECT 7 AS seven')).toEqual([{ seven: 7 }])
    const { host } = new Client({ connectionString: proxy.databaseUrl })
    expect(statSync(host).mode & 0o077).toBe(0)
    await proxy.close()
    expect(existsSync(host)).toBe(false)
  })
})

describe.skipIf(!hasOwnPostgres())('a password of the copy', () => {
  const PASSWORD = 'p@ss:word'
  let server: Postgres
  beforeAll(async () => {
    server = await startOwnPostgres()
    await execute(server.url, `CREATE ROLE ${GUARDED_ROLE} LOGIN PASSWORD '${PASSWORD}'`)
  }, 120_000)
  afterAll(() => server.stop())

  it.each([
    ['PGPASSWORD', () => vi.stubEnv('PGPASSWORD', PASSWORD)],
    [
      '~/.pgpass',
      () => {
        const file = join(newFolder(), 'pgpass')
        writeFileSync(file, `127.0.0.1:*:*:${GUARDED_ROLE}:${PASSWORD.replace(':', '\\:')}\n`, {
          mode: 0o600,
        })
        vi.stubEnv('PGPASSFILE', file)
      },
    ],
  ])('that is in %s is passed on to the servers on it', async (_where, prepare) => {
    prepare()
    const url = new URL(server.url)
    url.username = GUARDED_ROLE
    url.password = ''
    const proxy = await open(url.href)
    vi.unstubAllEnvs()
    expect(await execute(proxy.databaseUrl, 'SELECT current_user AS name')).toEqual([{ name: GUARDED_ROLE }])
  })
})

describe('the first message of a connection', () => {
  const toMessage = (protocol: number, ...words: string[]) => {
    const text = Buffer.from(words.map((word) => `${word}\0`).join(''))
    const head = Buffer.alloc(8)
    head.writeUInt32BE(8 + text.length, 0)
    head.writeUInt32BE(protocol, 4)
    return Buffer.concat([head, text])
  }
  const V3 = 3 << 16
  const COPY = { user: 'ada', database: 'copié' }
  const SSL = 80_877_103

  it('opens the copy', () => {
    const words = ['user', 'ada', 'database', 'copié', 'application_name', 'tabbat', '']
    expect(opensCopy(toMessage(V3, ...words), COPY)).toBe(true)
  })

  it.each([
    ['names another database', V3, ['user', 'ada', 'database', 'live', '']],
    ['names none', V3, ['user', 'ada', '']],
    ['names it after its end', V3, ['user', 'ada', '', 'database', 'copié', '']],
    ['names two', V3, ['user', 'ada', 'database', 'copié', 'database', 'live', '']],
    ['names another user', V3, ['user', 'postgres', 'database', 'copié', '']],
    ['replicates', V3, ['user', 'ada', 'database', 'copié', 'replication', 'true', '']],
    ['begins TLS', SSL, []],
    ['cancels', SSL - 1, ['12345678']],
  ] as const)('is refused if it %s', (_what, protocol, words) => {
    expect(opensCopy(toMessage(protocol, ...words), COPY)).toBe(false)
  })
})

/** Tells what arrives first at this place, and answers it. */
async function startServer(place: { readonly port: 0; readonly host: string } | { readonly path: string }) {
  const { promise: first, resolve } = Promise.withResolvers<string>()
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    socket.once('data', (bytes) => resolve(bytes.toString('latin1')))
  })
  await once(server.listen(place), 'listening')
  closes.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { server, first }
}

/** Speaks TLS as PostgreSQL does, and tells what arrives first, before and after the handshake. */
async function startTlsServer(name: string) {
  const { cert, key } = createCertificate({ name })
  const ca = join(newFolder(), 'ca.pem')
  writeFileSync(ca, cert)
  const { promise: secret, resolve: onSecret } = Promise.withResolvers<string>()
  const { server, first } = await startServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket) => {
    socket.once('data', (bytes) => {
      const isDirect = bytes.readUInt8(0) === HANDSHAKE
      if (isDirect) {
        // What was read is put back: it is the beginning of TLS.
        socket.pause()
        socket.unshift(bytes)
      } else socket.write('S')
      const options = { isServer: true, cert, key, ALPNProtocols: ['postgresql'] }
      const secure = new TLSSocket(socket, options)
      const protocol = () => (isDirect ? `${secure.alpnProtocol} ` : '')
      secure.on('error', () => {}).once('data', (text) => onSecret(`${protocol()}${text.toString('latin1')}`))
    })
  })
  return { port: (server.address() as AddressInfo).port, ca, first, secret }
}

/** The first byte of TLS. */
const HANDSHAKE = 22

describe('TLS to PostgreSQL', () => {
  const SSL_REQUEST = '\0\0\0\u0008\u0004\u00d2\u0016/'

  /** With the password, so that the proxy does not connect to learn it: what arrives comes through it. */
  const LOGIN = 'ada:word'

  /** Connects through the proxy; the server never answers the login. */
  async function connectTo(databaseUrl: string) {
    const proxy = await open(databaseUrl)
    const client = new Client({ connectionString: proxy.databaseUrl })
    client.on('error', () => {})
    return client.connect().then(
      () => 'connected',
      ({ message }: Error) => message,
    )
  }

  it.each([
    ['sslmode', (ca: string) => `sslmode=verify-full&sslrootcert=${ca}`],
    ['a certificate alone', (ca: string) => `sslrootcert=${ca}`],
    ['no-verify', () => 'sslmode=no-verify'],
  ])('is used by %s in the address', async (_what, toQuery) => {
    const { port, ca, first, secret } = await startTlsServer('localhost')
    void connectTo(`postgres://${LOGIN}@localhost:${port}/copy?${toQuery(ca)}`)
    expect(await first).toBe(SSL_REQUEST)
    expect(await secret).toContain('copy')
  })

  it('is used by PGSSLMODE, as by a server', async () => {
    vi.stubEnv('PGSSLMODE', 'no-verify')
    const { port, first, secret } = await startTlsServer('localhost')
    void connectTo(`postgres://${LOGIN}@localhost:${port}/copy`)
    expect(await first).toBe(SSL_REQUEST)
    expect(await secret).toContain('copy')
  })

  it('begins at once by sslnegotiation=direct, and names its protocol', async () => {
    const { port, ca, secret } = await startTlsServer('localhost')
    const query = `sslmode=verify-full&sslrootcert=${ca}&sslnegotiation=direct`
    void connectTo(`postgres://${LOGIN}@localhost:${port}/copy?${query}`)
    expect(await secret).toMatch(/^postgresql .*copy/s)
  })

  it('names no address as the name of the server', async () => {
    const warnings: string[] = []
    const onWarning = ({ message }: Error) => void warnings.push(message)
    process.on('warning', onWarning)
    closes.push(() => process.off('warning', onWarning))
    const { port, secret } = await startTlsServer('localhost')
    void connectTo(`postgres://${LOGIN}@127.0.0.1:${port}/copy?sslmode=no-verify`)
    expect(await secret).toContain('copy')
    expect(warnings).toEqual([])
  })

  it('of a server with another name is not used: the login is not sent', async () => {
    const { port, ca, first } = await startTlsServer('another.example')
    const query = `sslmode=verify-full&sslrootcert=${ca}`
    expect(await connectTo(`postgres://${LOGIN}@localhost:${port}/copy?${query}`)).toContain('terminated')
    expect(await first).toBe(SSL_REQUEST)
  })

  it('that the server does not speak is not done without', async () => {
    const { server, first } = await startServer({ port: 0, host: '127.0.0.1' })
    const arrived: string[] = []
    server.on('connection', (socket) => {
      socket.on('data', (bytes) => arrived.push(bytes.toString('latin1')))
      socket.once('data', () => socket.write('N'))
    })
    const { port } = server.address() as AddressInfo
    const url = `postgres://${LOGIN}@localhost:${port}/copy?sslmode=no-verify`
    expect(await connectTo(url)).toContain('terminated')
    expect([await first, arrived]).toEqual([SSL_REQUEST, [SSL_REQUEST]])
  })

  it('is not used over a socket in a folder, if the address asks for none', async () => {
    const folder = newFolder()
    const { first } = await startServer({ path: join(folder, '.s.PGSQL.5432') })
    void connectTo(`postgres://${LOGIN}@${encodeURIComponent(folder)}/copy`)
    expect(await first).toContain('copy')
  })
})
