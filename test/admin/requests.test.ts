import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RequestList, RequestRates, RequestView } from '../../src/admin/requests.ts'
import { bearer, PHONE } from '../app.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

const VERIFY = '/api/v2/kyc/verify-nin'

let server: TestConsole
let key: string
let cookie: string
beforeAll(async () => {
  server = await openTestConsole({ TABBAT_PUBLIC_URL: 'https://verify.example.com' })
  key = await server.createKey({ name: 'loans app' })
  cookie = await server.openSession('viewer')
})
afterAll(() => server.close())

const verify = async (payload: object, id: string = randomUUID(), as = key) => {
  const headers = { ...bearer(as), 'x-request-id': id }
  const answer = await server.app.inject({ method: 'POST', url: VERIFY, headers, payload })
  await server.context.requests?.flush()
  return { id, answer }
}
const list = async (query: Record<string, string>) =>
  (await server.request(`/admin/requests?${new URLSearchParams(query)}`, { cookie })).json() as RequestList

describe('GET /admin/requests', () => {
  it('finds a request by its id, with the name of its key and a command without its key', async () => {
    const { id, answer } = await verify({ nin: '1', phone: 'x' })
    const { rows, commands, next, recorded } = await list({ request_id: id })
    expect(rows).toMatchObject([
      {
        ...{ request_id: id, request_reference: null, key_name: 'loans app', mode: 'test', method: 'POST' },
        ...{ operation: 'verify_nin', status: 422, code: 'validation_failed', fields: ['nin', 'phone'] },
      },
    ])
    expect([answer.statusCode, next, recorded]).toEqual([422, null, true])
    expect(commands.verify_nin).toBe(
      [
        "curl -i 'https://verify.example.com/api/v2/kyc/verify-nin'",
        '-H "Authorization: Bearer $TABBAT_KEY"',
        "-H 'Content-Type: application/json'",
        `--data '{"nin":"<nin>","phone":"<phone>"}'`,
      ].join(' \\\n  '),
    )
    expect(commands.list_tv_add_ons).toContain('?type=<type>&productCode=<productCode>')
    expect(commands.get_verification).toContain('/api/v2/kyc/verifications/<reference>')
  })

  it('filters by key, status, code and time, and goes on page by page', async () => {
    const busy = await server.createKey({ name: 'busy' })
    const keyId = busy.slice(9, 17)
    for (let count = 0; count < 60; count++)
      await server.app.inject({ method: 'POST', url: VERIFY, headers: bearer(busy), payload: {} })
    await verify({ nin: '12345678901', phone: PHONE }, undefined, busy)
    expect((await list({ key: ' busy ' })).rows).toHaveLength(50)
    const first = await list({ key: keyId })
    expect(first.rows).toHaveLength(50)
    expect(first.rows[0]).toMatchObject({ status: 200, code: 'verified' })
    const second = await list({ key: keyId, before: first.next ?? '' })
    expect([second.rows.length, second.next]).toEqual([11, null])
    expect((await list({ key: keyId, status: '2xx' })).rows).toHaveLength(1)
    expect((await list({ key: keyId, code: 'verified', mode: 'test' })).rows).toHaveLength(1)
    const later = new Date(Date.now() + 60_000).toISOString()
    expect((await list({ key: keyId, from: later })).rows).toEqual([])
    expect((await list({ key: keyId, to: new Date(0).toISOString() })).rows).toEqual([])
  })

  it('exports all that a search finds, beyond its page', async () => {
    const csv = await server.request('/admin/requests/export.csv?key=busy', { cookie })
    expect(csv.headers['content-disposition']).toMatch(/^attachment; filename="requests-[\d-]+\.csv"$/)
    const [head, ...lines] = csv.text.trimEnd().split('\r\n')
    expect(head).toMatch(/^time,status,code,fields,/)
    expect(lines).toHaveLength(61)
    expect(
      lines.filter((line) => line.includes(',422,validation_failed,nin phone,POST,verify_nin,')),
    ).toHaveLength(60)
    expect((await server.request('/admin/requests/export.csv?key=bus', { cookie })).status).toBe(422)
  })

  it('refuses a wrong filter, and an id that may be personal', async () => {
    const refuse = async (query: string) =>
      (await server.request(`/admin/requests?${query}`, { cookie })).status
    expect(await refuse('status=abc')).toBe(422)
    expect(await refuse('operation=nonsense')).toBe(422)
    expect(await refuse('code=nonsense')).toBe(422)
    expect(await refuse('key=bus')).toBe(422)
    expect(await refuse('before=nonsense')).toBe(422)
    expect(await refuse('request_id=customer-7')).toBe(422)
  })

  it("finds a caller's own id by its stored form", async () => {
    await verify({ nin: '12345678901', phone: PHONE }, 'customer-7')
    const body = { request_id: 'customer-7' }
    const stored = await server.request('/admin/requests/id', { cookie, body })
    const { request_id } = stored.json() as { request_id: string }
    expect(request_id).toMatch(/^own_[0-9a-f]{32}$/)
    expect((await list({ request_id })).rows).toHaveLength(1)
  })
})

it('GET /admin/requests/verifications/:reference lists the requests of one verification', async () => {
  const { id, answer } = await verify({ nin: '12345678901', phone: PHONE })
  const { request_reference: reference } = answer.json().data
  const path = `/admin/requests/verifications/${reference}`
  const { requests } = (await server.request(path, { cookie })).json() as { requests: RequestView[] }
  expect(requests).toMatchObject([{ request_id: id, request_reference: reference, status: 200 }])
  const unknown = await server.request('/admin/requests/verifications/ver_unknown', { cookie })
  expect(unknown.json()).toEqual({ requests: [] })
})

it('GET /admin/requests/rates counts what was not answered, and requests without a key', async () => {
  const bad = await server.createKey({ name: 'bad client' })
  await verify({ nin: '1', phone: 'x' }, undefined, bad)
  await verify({ nin: '12345678901', phone: PHONE }, undefined, bad)
  await verify({ nin: '00000000422', phone: PHONE }, undefined, bad)
  await server.app.inject({ method: 'POST', url: VERIFY, payload: {} })
  await server.context.requests?.flush()
  const { recorded, keys, keyless } = (
    await server.request('/admin/requests/rates?range=hour', { cookie })
  ).json() as RequestRates
  expect(keys.find(({ key_name }) => key_name === 'bad client')).toMatchObject({
    ...{ requests: 3, answered: 2, refused: 1, failed: 0, broken_off: 0 },
    codes: [{ code: 'validation_failed', status: 422, requests: 1 }],
  })
  expect(keyless.find(({ status }) => status === 401)?.requests).toBeGreaterThan(0)
  expect(recorded).toBe(true)
  const listCodes = async (status: string) =>
    (await list({ key: 'bad client', status })).rows.map(({ code }) => code)
  expect(await listCodes('refused')).toEqual(['validation_failed'])
  expect(await listCodes('4xx')).toEqual(['not_verified', 'validation_failed'])
})

it('GET /admin/requests/rates says that the request log is off', async () => {
  const other = await openTestConsole({ TABBAT_REQUESTS_KEEP: 'off' })
  const viewer = await other.openSession('viewer')
  const rates = (await other.request('/admin/requests/rates', { cookie: viewer })).json()
  expect(rates).toEqual({ recorded: false, keys: [], keyless: [] })
  await other.close()
})

it('GET /admin/requests/events sends new requests that match', async () => {
  const watched = await server.createKey({ name: 'watched' })
  const query = `status=4xx&key=${watched.slice(9, 17)}`
  const sent = request(`${server.url}/admin/requests/events?${query}`, { headers: { cookie } })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.setEncoding('utf8')
  await once(response, 'data')
  await verify({ nin: '12345678901', phone: PHONE }, undefined, watched)
  const { id } = await verify({ nin: '1', phone: 'x' }, undefined, watched)
  let received = ''
  for await (const piece of response) {
    received += piece
    if (received.includes('\n\n')) break
  }
  const { rows } = JSON.parse(/^data: (.*)$/m.exec(received)?.[1] ?? '') as { rows: RequestView[] }
  expect(rows.map(({ request_id }) => request_id)).toEqual([id])
})
