import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { type AddressInfo, connect as connectPlain } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, connect, getCiphers, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildAdminServer } from '../../src/admin/server.ts'
import { type App, createApp } from '../../src/http/app.ts'
import { createSession } from '../admin/test-console.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createCertificate, writeCertificate } from '../certificate.ts'

const HSTS = 'max-age=31536000'
const first = createCertificate()
let settings: ReturnType<typeof writeCertificate>
let server: TestApp
let admin: App

beforeAll(async () => {
  settings = writeCertificate(first)
  server = await openTestApp({ ...settings, TABBAT_SANDBOX: 'on' })
  admin = buildAdminServer(server.context, server.app)
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  await admin.listen({ host: '::1', port: 0 })
})

afterAll(async () => {
  await admin.close()
  await server.close()
})

const portOf = (app: App) => (app.listener.address() as AddressInfo).port

type Sent = { readonly path: string; readonly method?: string; readonly headers?: Record<string, string> }

async function ask(app: App, { path, method = 'GET', headers = {} }: Sent, body = '', agent?: Agent) {
  const { address, port } = app.listener.address() as AddressInfo
  const target = { host: address, port, path, method, headers, agent, rejectUnauthorized: false }
  const sent = request(target)
  sent.end(body)
  const [response] = await once(sent, 'response')
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

async function open(app: App, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const { address, port } = app.listener.address() as AddressInfo
  const socket = connect({ host: address, port, rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return socket
}

const fingerprintOf = (socket: TLSSocket) =>
  socket.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '').toLowerCase()

it('answers over TLS on both listeners, IPv4 and IPv6, and tells browsers to stay there', async () => {
  const answer = await ask(
    server.app,
    { path: '/api/v2/kyc/verify-nin', method: 'POST', headers: bearer() },
    JSON.stringify({ nin: '12345678901', phone: PHONE }),
  )
  expect([answer.status, answer.headers['strict-transport-security']]).toEqual([200, HSTS])
  const { image_url } = JSON.parse(answer.body).data.personal_info
  expect(image_url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\//)
  const ready = await ask(admin, { path: '/health/ready' })
  expect([ready.status, ready.headers['strict-transport-security']]).toEqual([200, HSTS])
  expect(admin.url()).toBe(`https://[::1]:${portOf(admin)}`)
})

it('has the same headers on refusals, errors and what is not HTTP', async () => {
  for (const path of ['/nowhere', '/api/v2/kyc/verify-nin'])
    expect((await ask(server.app, { path })).headers['strict-transport-security']).toBe(HSTS)
  expect((await ask(server.app, { path: '/', headers: { expect: 'x' } })).headers).toMatchObject({
    'strict-transport-security': HSTS,
  })
  const socket = await open(server.app)
  socket.write('NONSENSE\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*strict-transport-security: max-age=31536000\r\n/)
})

it('accepts the cookie of the console only under the name that is bound to TLS', async () => {
  const cookie = await createSession(server.context, 'viewer', 'ada')
  const statusOf = async (text: string) =>
    (await ask(admin, { path: '/admin/keys', headers: { cookie: text } })).status
  expect([await statusOf(cookie), await statusOf(`__Host-${cookie}`)]).toEqual([401, 200])
})

it.each(['TLSv1', 'TLSv1.1'] as const)('refuses %s', async (version) => {
  const options = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' }
  await expect(open(server.app, options)).rejects.toThrow(/protocol|handshake|alert/i)
})

it.each(['TLSv1.2', 'TLSv1.3'] as const)('speaks %s', async (version) => {
  const socket = await open(server.app, { minVersion: version, maxVersion: version })
  expect(socket.getProtocol()).toBe(version)
  socket.destroy()
})

it('does not answer plain HTTP', async () => {
  const socket = connectPlain(portOf(server.app), '127.0.0.1')
  socket.end('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await text(socket).catch(() => '')).not.toContain('HTTP/1.1')
})

it('uses a replaced certificate for new connections and keeps the open ones', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  await ask(server.app, { path: '/health/live' }, '', agent)
  const [kept] = Object.values(agent.freeSockets).flat() as TLSSocket[]
  const second = createCertificate()
  writeFileSync(settings.TABBAT_TLS_CERT, second.cert)
  server.context.certificate?.check()
  server.context.certificate?.check()
  const mismatched = await open(server.app)
  expect(fingerprintOf(mismatched)).toBe(first.sha256)
  mismatched.destroy()

  writeFileSync(settings.TABBAT_TLS_KEY, second.key)
  server.context.certificate?.check()
  server.context.certificate?.check()
  for (const listener of [server.app, admin]) {
    const socket = await open(listener)
    expect(fingerprintOf(socket)).toBe(second.sha256)
    socket.destroy()
  }
  await ask(server.app, { path: '/health/live' }, '', agent)
  expect(Object.values(agent.freeSockets).flat()).toEqual([kept])
  expect(kept && fingerprintOf(kept)).toBe(first.sha256)
  agent.destroy()
})

it('says in the metrics when the certificate ends', async () => {
  const { body } = await ask(admin, { path: '/metrics' })
  const ends = Number(/^tabbat_tls_certificate_expiry_timestamp_seconds (\S+)$/m.exec(body)?.[1]) * 1000
  expect(ends).toBe(server.context.certificate?.current().notAfter)
})

it('closes a connection that sends no request after its handshake', async () => {
  server.app.server.headersTimeout = 100
  const socket = await open(server.app)
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /)
  server.app.server.headersTimeout = 10_000
})

it('closes the oldest connection without a handshake when there are too many', async () => {
  const limits = { max: 8, unauthenticatedPerAddress: 100, isProxy: () => false, stalledMs: 30_000 }
  const certificate = server.context.certificate
  if (!certificate) throw new Error('no certificate')
  const hooks = { toErrorReply: () => ({ status: 500, headers: [], body: '' }), isStopping: () => false }
  const app = createApp(hooks, limits, { certificate, asksCaller: false })
  app.route({
    methods: ['GET'],
    path: '/x',
    operation: 'x',
    answer: () => ({ status: 200, headers: [], body: 'x' }),
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const openPlain = async () => {
    const socket = connectPlain(portOf(app), '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  const [first, second] = [await openPlain(), await openPlain()]
  const ended = once(first, 'close')
  first.resume()
  const third = await openPlain()
  await ended
  expect((await ask(app, { path: '/x' })).body).toBe('x')
  second.destroy()
  third.destroy()
  await app.close()
})

describe('TLS 1.2', () => {
  /** The suites that a listener accepts, each offered alone. */
  async function listAccepted(app: App): Promise<string[]> {
    const accepted: string[] = []
    for (const cipher of getCiphers().filter((name) => !name.startsWith('tls_'))) {
      const ciphers = `${cipher.toUpperCase()}:@SECLEVEL=0`
      const socket = await open(app, { ciphers, maxVersion: 'TLSv1.2' }).catch(() => undefined)
      if (socket) accepted.push(socket.getCipher().name)
      socket?.destroy()
    }
    return accepted
  }

  it.each(['ec', 'rsa'] as const)(
    'has only suites with forward secrecy and authenticated encryption, with a key of kind %s',
    async (kind) => {
      const files = writeCertificate(createCertificate({ kind }))
      const other = await openTestApp({ ...files, TABBAT_SANDBOX: 'on' })
      const console = buildAdminServer(other.context, other.app)
      try {
        for (const app of [other.app, console]) {
          await app.listen({ host: '127.0.0.1', port: 0 })
          const name = kind === 'ec' ? 'ECDSA' : 'RSA'
          const wanted = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305']
          expect((await listAccepted(app)).toSorted()).toEqual(wanted.map((end) => `ECDHE-${name}-${end}`))
        }
      } finally {
        await console.close()
        await other.close()
      }
    },
  )
})
