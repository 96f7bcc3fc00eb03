import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ErrorBody } from '../../src/contract/error.ts'
import { type Client, createClient, type Reply } from '../battery/client.ts'
import { createCertificate, writeCertificate } from '../certificate.ts'
import { startDnsServer } from './dns-server.ts'
import { type FakeNode, startFakeNode } from './fake-node.ts'
import { waitUntil, whyMissing } from './programs.ts'
import { startHaproxy, startNginx, type TlsProxy } from './proxy.ts'

const isErrorBody = new Ajv({ strict: false }).compile(ErrorBody)

/** Our error shape, with a retry that clients understand. */
function expectOurError({ status, body, headers }: Reply, expected: number): void {
  const error = JSON.parse(body)
  expect([status, isErrorBody(error), isErrorBody.errors]).toEqual([expected, true, null])
  expect(headers['content-type']).toContain('application/json')
  expect(headers['strict-transport-security']).toBe('max-age=31536000')
  expect(headers['retry-after'] === undefined).toBe(error.retryable === false)
}

/** Sends the head of a request with a body of this length. */
async function announceBody({ url, ca }: TlsProxy, operation: string, bytes: number): Promise<Reply> {
  const sent = request(`${url}/api/v2/kyc/${operation}`, {
    ...{ ca, method: 'POST', agent: false },
    headers: { 'content-length': String(bytes) },
  }).on('error', () => {})
  sent.flushHeaders()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const body = await text(response)
  sent.destroy()
  return { status: response.statusCode ?? 0, body, headers: response.headers }
}

/** Ends when the proxy has closed the connection. */
async function failHandshake({ url }: TlsProxy, hello: Buffer): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress: STRANGER })
  socket.on('error', () => {}).resume()
  socket.write(hello)
  await once(socket, 'close')
}

/** The first message of a TLS client. */
async function recordHello(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connectTls({ host: '127.0.0.1', port, ecdhCurve: 'X25519' }).on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [hello] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  server.close()
  return hello
}

/** A copy in which the second of these bytes, in hexadecimal, are in place of the first. */
function change(hello: Buffer, from: string, to: string): Buffer {
  const changed = hello.toString('hex').replace(from, to)
  if (changed === hello.toString('hex')) throw new Error(`the message has no ${from}`)
  return Buffer.from(changed, 'hex')
}

const STRANGER = '127.0.0.9'
const isRoot = process.getuid?.() === 0
const PROXIES = [
  { name: 'HAProxy', missing: whyMissing('haproxy', 'openssl'), start: startHaproxy },
  {
    name: 'nginx',
    missing:
      whyMissing('nginx', 'openssl') ?? (isRoot ? undefined : 'its folders for temporary files need root'),
    start: startNginx,
  },
]

describe.each(PROXIES)('$name with the configuration in deploy/', ({ missing, start }) => {
  if (missing !== undefined) return void it.skip(`is not tested: ${missing}`)
  /** How many of the next requests end with the death of their node. */
  let deaths = 0
  let nodes: readonly [FakeNode, FakeNode]
  let proxy: TlsProxy
  let client: Client
  const isDying = () => deaths-- > 0
  beforeAll(async () => {
    nodes = [await startFakeNode(isDying), await startFakeNode(isDying)]
    proxy = await start([nodes[0].address, nodes[1].address])
    client = createClient(4, proxy.ca)
  })
  afterAll(async () => {
    client.close()
    await proxy.program.stop('SIGKILL')
    for (const node of nodes) node.close()
  })
  const takeRequests = () => nodes.flatMap(({ requests }) => requests.splice(0))
  const post = (body: object, headers = {}) =>
    client.post(`${proxy.url}/api/v2/kyc/verify-nin`, body, headers)

  it('replaces forwarding headers of the caller, and keeps a request id that a node would keep', async () => {
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e'
    await post({}, { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-host': 'evil.test', 'x-request-id': id })
    const first = takeRequests()[0]?.headers
    await post({}, { 'x-request-id': 'two words"' })
    const second = takeRequests()[0]?.headers
    expect(first).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-request-id': id,
    })
    expect(first).not.toHaveProperty('x-forwarded-host')
    expect(second?.['x-request-id']).toMatch(/^[0-9a-f-]{32,36}$/)
  })

  it.each([100_000, 3_000_000, 16 * 1024 * 1024])('passes on a batch of %d bytes', async (bytes) => {
    const body = ['x'.repeat(bytes - 4)]
    const headers = { 'x-forwarded-host': 'evil.test', 'idempotency-key': 'customers-1' }
    const { status } = await client.post(`${proxy.url}/api/v2/kyc/batches`, body, headers)
    const [first, ...more] = takeRequests()
    expect([status, first?.bytes, more]).toEqual([200, bytes, []])
    expect(first?.headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'https',
      'idempotency-key': 'customers-1',
    })
    expect(first?.headers).not.toHaveProperty('x-forwarded-host')
  })

  it('sends a GET to another node when one dies', async () => {
    deaths = 1
    const { status } = await client.get(`${proxy.url}/api/v2/sme-data/list`)
    expect([status, takeRequests().map(({ method }) => method)]).toEqual([200, ['GET', 'GET']])
  })

  it.runIf(start === startHaproxy)('sends a POST with an Idempotency-Key to another node', async () => {
    deaths = 1
    const { status } = await post({ nin: '1' }, { 'idempotency-key': 'order-1' })
    expect([status, takeRequests().map(({ headers }) => headers['idempotency-key'])]).toEqual([
      200,
      ['order-1', 'order-1'],
    ])
  })

  it('never sends a POST without an Idempotency-Key twice, and answers in our error shape when a node dies with it', async () => {
    deaths = 1
    const fresh = createClient(1, proxy.ca)
    const reply = await fresh.post(`${proxy.url}/api/v2/kyc/verify-nin`, { nin: '1' })
    fresh.close()
    expect(reply.status).toBeGreaterThanOrEqual(502)
    expectOurError(reply, reply.status)
    expect(takeRequests().map(({ method }) => method)).toEqual(['POST'])
  })

  it('answers in our error shape when the body is too large, and when no node is left', async () => {
    expectOurError(await announceBody(proxy, 'verify-nin', 1e9), 413)
    const batch = await announceBody(proxy, 'batches', 1e9)
    expectOurError(batch, 413)
    expect(batch.body).not.toContain('16 KiB')
    expect(takeRequests()).toEqual([])
    for (const node of nodes) node.close()
    const last = await post({})
    expectOurError(last, 503)
  })

  it('logs no path, address, header or body', () => {
    const log = proxy.readLog()
    expect(log).toContain('"status":')
    expect(log).not.toMatch(/kyc|sme-data|203\.0\.113|evil|"nin"/)
  })

  it('logs no address when a TLS handshake fails', async () => {
    const hello = await recordHello()
    // A share of another curve than its name says, and a version of 1996.
    await failHandshake(proxy, change(hello, '001d0020', '00170020'))
    await failHandshake(proxy, change(hello, '002b000504', 'fafa000504').fill(0, 9, 11))
    if (start === startHaproxy)
      await waitUntil(
        'both are logged',
        async () => proxy.readLog().split('SSL handshake failure').length > 2,
      )
    expect(proxy.readLog()).not.toContain(STRANGER)
  })
})

it.skipIf(whyMissing('haproxy', 'openssl') !== undefined)(
  'HAProxy finds a node whose name is not known when it starts',
  async () => {
    const [node, dns] = [await startFakeNode(() => false), await startDnsServer()]
    const name = node.address.replace('127.0.0.1', 'tabbat-1.test')
    const proxy = await startHaproxy([name], { env: { TABBAT_PROXY_DNS: dns.address }, up: 0 })
    await waitUntil('it has asked for the name', async () => dns.count() > 1)
    expect(await proxy.countUp()).toBe(0)
    dns.know()
    await waitUntil('the node is up', async () => (await proxy.countUp()) === 1, 60_000)
    await proxy.program.stop('SIGKILL')
    node.close()
    dns.close()
  },
)

it.skipIf(whyMissing('haproxy', 'openssl') !== undefined)(
  'HAProxy with its lines for TLS of the nodes and for the PROXY protocol',
  async () => {
    const certificate = createCertificate()
    const { TABBAT_TLS_CERT } = writeCertificate(certificate)
    const node = await startFakeNode(() => false, certificate)
    // It returns when the node has passed the check.
    const proxy = await startHaproxy([node.address], {
      edit: (config) =>
        config
          .replace(/^ {2}bind .*\n(?=(?: {2}# .*\n)* {2}#bind .* accept-proxy )/m, '')
          .replaceAll(/^ {2}#(bind|default-server) /gm, '  $1 ')
          .replaceAll('/etc/haproxy/nodes-ca.crt', TABBAT_TLS_CERT),
    })
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(proxy.url).port) })
    socket.write('PROXY TCP4 203.0.113.7 127.0.0.1 4711 443\r\n')
    const createConnection = () => connectTls({ socket, ca: proxy.ca, servername: 'localhost' })
    const sent = request(`${proxy.url}/api/v2/sme-data/list`, { createConnection }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const headers = node.requests.map((received) => received.headers['x-forwarded-for'])
    expect([response.statusCode, headers]).toEqual([200, ['203.0.113.7']])
    socket.destroy()
    await proxy.program.stop('SIGKILL')
    node.close()
  },
)
