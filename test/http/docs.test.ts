import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { send } from '../admin/test-console.ts'
import { openTestApp, type TestApp } from '../app.ts'

let server: TestApp
let url: string
beforeAll(async () => {
  server = await openTestApp()
  url = await server.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => server.close())

/** The two documents, over a socket. */
async function readDocuments(headers: Record<string, string> = {}, from = url) {
  const [openApi, page] = await Promise.all(
    ['/openapi.json', '/docs'].map((path) => send(`${from}${path}`, { headers })),
  )
  if (!openApi || !page) throw new Error('no answer')
  return { openApi, page, servers: openApi.json().servers as { url: string }[] }
}

async function withServer(
  settings: Record<string, string>,
  work: (from: string) => Promise<void>,
): Promise<void> {
  const other = await openTestApp(settings)
  try {
    await work(await other.app.listen({ host: '127.0.0.1', port: 0 }))
  } finally {
    await other.close()
  }
}

const SERVER = 'http://127.0.0.1:8080'

describe('/openapi.json and /docs', () => {
  it('name the host of the request', async () => {
    const { servers, openApi, page } = await readDocuments()
    expect(servers).toMatchObject([{ url }])
    for (const { text } of [openApi, page]) {
      expect(text).toContain(`${url}/`)
      expect(text).not.toContain(SERVER)
    }
    expect(page.text).toContain(`curl -s &#39;${url}/api/v2/kyc/verify-nin&#39;`)
  })

  it('name TABBAT_PUBLIC_URL where it is set, whatever the host of the request', async () => {
    await withServer({ TABBAT_PUBLIC_URL: 'https://verify.example.com' }, async (from) => {
      const { servers, page } = await readDocuments({}, from)
      expect(servers).toMatchObject([{ url: 'https://verify.example.com' }])
      expect(page.text).toContain('https://verify.example.com/api/v2/kyc/verify-nin')
      expect(page.text).not.toContain('127.0.0.1')
    })
  })

  it('are not cached, because they depend on the host of the request', async () => {
    const { openApi, page } = await readDocuments()
    for (const { headers } of [openApi, page]) expect(headers['cache-control']).toBe('no-store')
  })

  it.each([
    'evil.example/path',
    'a"b',
    '<script>evil',
    'user@evil.example',
    '-.example',
    'x'.repeat(300),
    'host:123456',
    '[::1',
    '$&',
  ])('do not repeat an invalid Host: %s', async (host) => {
    const { servers, page } = await readDocuments({ host })
    expect(servers).toMatchObject([{ url: SERVER }])
    expect(page.text).not.toContain(host)
  })

  it.each(['api.example.com', 'api.example.com:8443', '[::1]:8080', '10.1.2.3:80', 'localhost'])(
    'accept %s as a host',
    async (host) => {
      expect((await readDocuments({ host })).servers).toMatchObject([{ url: `http://${host}` }])
    },
  )

  it('name the right host however many others were asked for', async () => {
    const hosts = Array.from({ length: 20 }, (_, index) => `host-${index % 12}.example`)
    for (const host of hosts) {
      const { servers, page } = await readDocuments({ host })
      expect(servers).toMatchObject([{ url: `http://${host}` }])
      expect(page.text).toContain(`http://${host}/api/v2/kyc/verify-nin`)
    }
  })

  it('use https only where a trusted proxy says so', async () => {
    const headers = { host: 'api.example.com', 'x-forwarded-proto': 'https' }
    expect((await readDocuments(headers)).servers).toMatchObject([{ url: 'http://api.example.com' }])
    await withServer({ TABBAT_TRUST_PROXY: '127.0.0.1' }, async (from) => {
      expect((await readDocuments(headers, from)).servers).toMatchObject([{ url: 'https://api.example.com' }])
    })
    await withServer({ TABBAT_TRUST_PROXY: '10.0.0.1' }, async (from) => {
      expect((await readDocuments(headers, from)).servers).toMatchObject([{ url: 'http://api.example.com' }])
    })
  })
})
