import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from './test-console.ts'

const TOKEN = 'a-token-for-metrics'
let server: TestConsole
beforeAll(async () => {
  server = await openTestConsole({
    TABBAT_ADMIN_NAMES: 'console.example.com',
    TABBAT_METRICS_TOKEN: TOKEN,
    TABBAT_TRUST_PROXY: '127.0.0.1',
  })
})
afterAll(() => server.close())

/** Sends these lines over a socket; returns the status. */
async function sendRaw(...lines: readonly string[]): Promise<number> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`)
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1])
}

const askAs = (...hosts: readonly string[]) =>
  sendRaw('GET /health/live HTTP/1.1', ...hosts.map((host) => `Host: ${host}`))

describe('the Host of a request to the admin listener', () => {
  it.each([
    'localhost',
    'LOCALHOST:9000',
    '127.0.0.1',
    '127.0.0.1:8081',
    '[::1]:8081',
    'console.example.com',
    'Console.Example.com:443',
  ])('may be %s', async (host) => {
    expect(await askAs(host)).toBe(200)
  })

  it.each([
    'evil.test',
    'evil.test:8081',
    'localhost.evil.test',
    '127.0.0.1.evil.test',
    'console.example.com.evil.test',
    '127.0.0.2',
    'localhost:8081:80',
    '',
  ])('must not be %j', async (host) => {
    expect(await askAs(host)).toBe(421)
  })

  it('must be present exactly once', async () => {
    expect(await sendRaw('GET /health/live HTTP/1.1')).toBe(400)
    expect(await sendRaw('GET /health/live HTTP/1.0')).toBe(421)
    expect(await askAs('localhost', 'localhost')).toBe(400)
    expect(await askAs('localhost', 'evil.test')).toBe(400)
  })

  it('is also checked in X-Forwarded-Host of a trusted proxy', async () => {
    const forward = (host: string) =>
      sendRaw('GET /health/live HTTP/1.1', 'Host: 127.0.0.1', `X-Forwarded-Host: ${host}`)
    expect([await forward('console.example.com'), await forward('evil.test')]).toEqual([200, 421])
  })

  it('is checked first, on every path', async () => {
    for (const path of ['/metrics', '/console', '/admin/session', '/admin/openapi.json', '/nowhere'])
      expect(await sendRaw(`GET ${path} HTTP/1.1`, 'Host: evil.test'), path).toBe(421)
    const body = '{"name":"ada","password":"a guess"}'
    const head = ['POST /admin/session/sign-in HTTP/1.1', 'Host: evil.test', 'Origin: http://evil.test']
    const rest = ['Content-Type: application/json', `Content-Length: ${body.length}`]
    expect(await sendRaw(...head, ...rest, '', body)).toBe(421)
  })
})

describe('TABBAT_METRICS_TOKEN', () => {
  const fetchMetrics = async (authorization?: string) => {
    const {
      status,
      text: content,
      headers,
    } = await server.request('/metrics', {
      headers: authorization === undefined ? {} : { authorization },
    })
    return [status, content.includes('tabbat_requests_total'), headers['www-authenticate']]
  }

  it('gives access', async () => {
    expect(await fetchMetrics(`Bearer ${TOKEN}`)).toEqual([200, true, undefined])
  })

  it.each([undefined, '', 'Bearer', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, 'Basic YTpi'])(
    'refuses %j',
    async (authorization) => {
      expect(await fetchMetrics(authorization)).toEqual([401, false, 'Bearer'])
    },
  )
})

describe('event streams', () => {
  const open = async (cookie: string): Promise<[number | undefined, ClientRequest]> => {
    const asked = request(`${server.url}/admin/overview/events`, { headers: { cookie } }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    return [response.statusCode, asked]
  }

  it('are limited per session, and a closed one frees its slot', async () => {
    const [one, other] = [await server.openSession('viewer'), await server.openSession('owner')]
    const opened: ClientRequest[] = []
    const openOne = async (cookie: string) => {
      const [status, asked] = await open(cookie)
      opened.push(asked)
      return status
    }
    const statuses = []
    for (let count = 0; count < 10; count++) statuses.push(await openOne(one))
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 429, 429])
    expect(await openOne(other)).toBe(200)
    opened[0]?.destroy()
    await expect.poll(() => openOne(one)).toBe(200)
    for (const asked of opened) asked.destroy()
  })
})
