import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeKey } from '../../src/keys/manage.ts'
import { toSearchedId } from '../../src/requests/request-log.ts'
import { type RequestFilter, readKeyRates, searchRequests } from '../../src/requests/search.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { inject } from '../inject.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const VERIFY = '/api/v2/kyc/verify-nin'
const NIN = '12345678901'

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('the request log on %s', (engine) => {
  let server: TestApp
  let key: string
  beforeAll(async () => {
    const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
    server = await openTestApp({ ...database, TABBAT_RATE_LIMIT: '30' })
    key = await server.createKey()
  })
  afterAll(() => server.close())

  const idOf = (text: string) => text.slice('tbt_test_'.length, 'tbt_test_'.length + 8)
  const search = async (filter: RequestFilter) => {
    await server.context.requests?.flush()
    return (await searchRequests(server.context.store.requests, filter)).rows
  }
  const verify = (payload: object, headers: Record<string, string> = {}) =>
    server.app.inject({ method: 'POST', url: VERIFY, headers: { ...bearer(key), ...headers }, payload })

  it('has a verification by its request_id and by its reference', async () => {
    const answer = await verify({ nin: NIN, phone: PHONE })
    const requestId = String(answer.headers['x-request-id'])
    const { request_reference: reference } = answer.json().data
    const expected = {
      ...{ requestId, reference, keyId: idOf(key), mode: 'test', operation: 'verify_nin', method: 'POST' },
      ...{ status: 200, code: 'verified', fields: [] },
    }
    expect(await search({ requestId })).toMatchObject([expected])
    expect(await search({ reference })).toMatchObject([expected])
  })

  it.each<[string, number, string, (id: string) => Promise<{ readonly statusCode: number }>]>([
    [
      'a wrong field',
      422,
      'validation_failed',
      (id) => verify({ nin: '1', phone: 'x' }, { 'x-request-id': id }),
    ],
    [
      'not verified',
      422,
      'not_verified',
      (id) => verify({ nin: '00000000422', phone: PHONE }, { 'x-request-id': id }),
    ],
    [
      'a failure',
      503,
      'source_unavailable',
      (id) => verify({ nin: '00000000503', phone: PHONE }, { 'x-request-id': id }),
    ],
    [
      'a large body',
      413,
      'body_too_large',
      (id) => verify({ nin: 'x'.repeat(20_000) }, { 'x-request-id': id }),
    ],
    [
      'an unknown path',
      404,
      'not_found',
      (id) => server.app.inject({ url: '/api/v2/nothing', headers: { ...bearer(key), 'x-request-id': id } }),
    ],
    [
      'another method',
      405,
      'method_not_allowed',
      (id) =>
        server.app.inject({ method: 'DELETE', url: VERIFY, headers: { ...bearer(key), 'x-request-id': id } }),
    ],
    [
      'a missing scope',
      403,
      'forbidden',
      async (id) => {
        key = await server.createKey({ scopes: ['kyc:bvn'] })
        return verify({ nin: NIN, phone: PHONE }, { 'x-request-id': id })
      },
    ],
    [
      'a revoked key',
      401,
      'unauthenticated',
      async (id) => {
        key = await server.createKey()
        await revokeKey({ ...server.context, keyring: server.context.keyring() }, idOf(key))
        return verify({ nin: NIN, phone: PHONE }, { 'x-request-id': id })
      },
    ],
    [
      'an expired key',
      401,
      'unauthenticated',
      async (id) => {
        key = await server.createKey({ expiresAt: Date.now() - 1000 })
        return verify({ nin: NIN, phone: PHONE }, { 'x-request-id': id })
      },
    ],
    [
      'too many requests',
      429,
      'rate_limited',
      async (id) => {
        key = await server.createKey()
        for (let count = 0; count < 31; count++) await verify({ nin: '1', phone: 'x' })
        return verify({ nin: NIN, phone: PHONE }, { 'x-request-id': id })
      },
    ],
  ])('has %s (%i %s) under its key', async (_what, status, code, send) => {
    const id = randomUUID()
    expect((await send(id)).statusCode).toBe(status)
    const [row, ...others] = await search({ requestId: id })
    expect(row).toMatchObject({ keyId: idOf(key), status, code })
    expect(others).toEqual([])
    if (code === 'validation_failed') expect(row?.fields).toEqual(['nin', 'phone'])
  })

  it("finds a caller's own id, of which only a keyed hash is stored", async () => {
    key = await server.createKey()
    const own = `customer-${NIN}`
    await verify({ nin: NIN, phone: PHONE }, { 'x-request-id': own })
    const stored = toSearchedId(server.context.keyring()['request-id'], own)
    expect(stored).toMatch(/^own_[0-9a-f]{32}$/)
    expect(await search({ requestId: stored })).toMatchObject([{ requestId: stored, keyId: idOf(key) }])
    expect(toSearchedId(server.context.keyring()['request-id'], stored)).toBe(stored)
  })

  it('has a request whose caller closed the connection', async () => {
    key = await server.createKey()
    const url = new URL(await server.app.listen({ host: '127.0.0.1', port: 0 }))
    const id = randomUUID()
    const closed = once(server.app.server, 'request').then(async ([, response]) => {
      const ended = once(response, 'close')
      // After the key was looked up: until then it is not known whose request this is.
      while (!(await server.context.authenticate(`Bearer ${key}`))) await new Promise(setImmediate)
      socket.destroy()
      await ended
    })
    const socket = connect(Number(url.port), url.hostname)
    socket.write(
      `POST ${VERIFY} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: ${id}\r\nContent-Length: 100\r\n\r\n{`,
    )
    await closed
    expect(await search({ requestId: id })).toMatchObject([{ status: 0, code: 'aborted', keyId: idOf(key) }])
  })

  it('counts requests without a valid key by status, and nothing else of them', async () => {
    const before = await readKeyRates(server.context.store.requests, 0)
    const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`
    for (const headers of [{}, bearer('nonsense'), bearer(wrong)])
      expect(
        (await server.app.inject({ method: 'POST', url: VERIFY, headers, payload: {} })).statusCode,
      ).toBe(401)
    expect((await server.app.inject({ url: '/nothing' })).statusCode).toBe(404)
    await server.context.requests?.flush()
    const { keyless } = await readKeyRates(server.context.store.requests, 0)
    const count = (status: number, list: typeof keyless) =>
      list.find((each) => each.status === status)?.count ?? 0
    expect(count(401, keyless) - count(401, before.keyless)).toBe(3)
    expect(count(404, keyless) - count(404, before.keyless)).toBe(1)
  })

  it('has no number, phone, name or key in it', async () => {
    key = await server.createKey()
    const headers = { ...bearer(key), 'x-request-id': `customer-${NIN}` }
    expect((await verify({ nin: NIN, phone: PHONE }, headers)).statusCode).toBe(200)
    for (const url of [`/api/v2/kyc/${NIN}`, `${VERIFY}?nin=${NIN}&phone=${PHONE}`])
      expect((await server.app.inject({ url, headers })).statusCode).toBeGreaterThan(400)
    expect(await search({})).not.toEqual([])
    const canaries = [NIN, PHONE, PHONE.slice(1), 'customer', key, key.slice(-20)]
    if (engine === 'SQLite') {
      const { dataDir } = server.context.config
      const files = readdirSync(dataDir).filter((name) => name.startsWith('tabbat.db'))
      const bytes = files.map((name) => readFileSync(join(dataDir, name)).toString('latin1')).join('')
      for (const canary of canaries) expect(bytes.includes(canary), canary).toBe(false)
    }
    const everything = JSON.stringify(await search({}))
    for (const canary of canaries) expect(everything.includes(canary), canary).toBe(false)
  })
})

it('waits with a flush for a key that is still being looked up', async () => {
  const server = await openTestApp()
  const { context } = server
  const [asked, found] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const authenticate: typeof context.authenticate = async (...args) => {
    asked.resolve()
    await found.promise
    return context.authenticate(...args)
  }
  const app = createApiServer({ ...context, authenticate })
  const id = randomUUID()
  const headers = { ...bearer(), 'x-request-id': id }
  expect((await inject(app, { method: 'DELETE', url: VERIFY, headers })).statusCode).toBe(405)
  await asked.promise
  const flushed = context.requests?.flush()
  setImmediate(found.resolve)
  await flushed
  expect((await searchRequests(context.store.requests, { requestId: id })).rows).toHaveLength(1)
  await app.close()
  await server.close()
})

it('records nothing if it is off', async () => {
  const server = await openTestApp({ TABBAT_REQUESTS_KEEP: 'off' })
  await server.app.inject({ url: '/api/v2/sme-data/list', headers: bearer() })
  expect(server.context.requests).toBeUndefined()
  expect(await server.context.store.requests.count()).toBe(0)
  await server.close()
})
