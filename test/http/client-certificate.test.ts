import { once } from 'node:events'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { createCertificate, type TestCertificate, writeCertificate } from '../certificate.ts'

const DAY_MS = 86_400_000
const [mine, other, renewed] = [createCertificate(), createCertificate(), createCertificate()]
let server: TestApp
let headers: ReturnType<typeof bearer>

beforeAll(async () => {
  server = await openTestApp(writeCertificate(createCertificate()))
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  headers = bearer(await createKey(mine, renewed))
})
afterAll(() => server.close())

const createKey = (...certificates: readonly TestCertificate[]) =>
  server.createKey({ clientCerts: certificates.map(({ sha256 }) => `sha256:${sha256}`) })

const port = () => (server.app.listener.address() as AddressInfo).port

async function ask(options: ConnectionOptions, given = headers) {
  const target = { host: '127.0.0.1', port: port(), path: '/api/v2/sme-data/list', headers: given }
  const sent = request({ ...target, agent: false, rejectUnauthorized: false, ...options })
  sent.end()
  const [response] = await once(sent, 'response')
  return { status: response.statusCode, body: await text(response) }
}

describe('a key with client certificates', () => {
  it.each(['TLSv1.2', 'TLSv1.3'] as const)('works with each of them over %s', async (version) => {
    const options = { minVersion: version, maxVersion: version }
    for (const { cert, key } of [mine, renewed])
      expect((await ask({ ...options, cert, key })).status).toBe(200)
  })

  it('is refused without a certificate, and with another one', async () => {
    for (const options of [{}, { cert: other.cert, key: other.key }]) {
      const { status, body } = await ask(options)
      expect([status, JSON.parse(body).code]).toEqual([403, 'forbidden'])
    }
  })

  it('is refused with the certificate and another private key', async () => {
    await expect(ask({ cert: mine.cert, key: other.key })).rejects.toThrow(/mismatch/)
  })

  it('is refused without TLS', async () => {
    const { statusCode } = await server.app.inject({ url: '/api/v2/sme-data/list', headers })
    expect(statusCode).toBe(403)
  })

  it('works when the TLS session is resumed', async () => {
    const options = {
      host: '127.0.0.1',
      port: port(),
      rejectUnauthorized: false,
      cert: mine.cert,
      key: mine.key,
    }
    const head = `GET /api/v2/sme-data/list HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\nConnection: close\r\n\r\n`
    const first = connect(options)
    const session = once(first, 'session')
    first.write(head)
    expect(await text(first)).toMatch(/^HTTP\/1\.1 200/)
    const second: TLSSocket = connect({ ...options, session: (await session)[0] as Buffer })
    await once(second, 'secureConnect')
    expect(second.isSessionReused()).toBe(true)
    second.write(head)
    expect(await text(second)).toMatch(/^HTTP\/1\.1 200/)
  })

  it('works with a certificate that has ended: the key decides', async () => {
    const ended = createCertificate({ from: Date.now() - 9 * DAY_MS, until: Date.now() - DAY_MS })
    const given = bearer(await createKey(ended))
    expect((await ask({ cert: ended.cert, key: ended.key }, given)).status).toBe(200)
  })
})

it('a key without client certificates works with and without one', async () => {
  const given = bearer(await server.createKey())
  for (const options of [{}, { cert: other.cert, key: other.key }])
    expect((await ask(options, given)).status).toBe(200)
})
