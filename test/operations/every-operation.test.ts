import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SCOPES } from '../../src/contract/scope.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { toExampleInput } from '../../src/reference/openapi.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'

let server: TestApp

beforeAll(async () => {
  server = await openTestApp()
})
afterAll(() => server.close())

describe.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))(
  '%s',
  (_id, operation) => {
    const { method, path, inputFrom, scope } = operation
    const ask = (headers: Record<string, string>) =>
      server.app.inject({
        method,
        url: path.replace(':provider', 'smile'),
        headers,
        ...(inputFrom === 'path' ? {} : { payload: toExampleInput(operation) }),
      })

    it('answers 200 to its example', async () => {
      expect((await ask(bearer())).statusCode).toBe(200)
    })

    it.each(['', 'Bearer tbt_test_wrong', 'nonsense'])(
      'answers 401 to the credential %j',
      async (authorization) => {
        const answer = await ask({ authorization })
        expect(answer.statusCode).toBe(401)
        expect(answer.body).toBe('{"message":"Unauthenticated."}')
        expect(answer.headers['www-authenticate']).toBe('Bearer')
      },
    )

    it('answers 401 before anything else is checked', async () => {
      const url = path.replace(':provider', 'unknown')
      const answer = await server.app.inject({
        method,
        url,
        headers: { 'content-type': 'text/plain' },
        payload: '{',
      })
      expect(answer.statusCode).toBe(401)
    })

    it('answers 403 to a key without its scope, and 200 to one with only that', async () => {
      const without = await server.createKey({ scopes: SCOPES.filter((other) => other !== scope) })
      const only = await server.createKey({ scopes: [scope] })
      expect((await ask(bearer(without))).json().code).toBe('forbidden')
      expect((await ask(bearer(only))).statusCode).toBe(200)
    })

    it('keeps a safe request id and replaces an unsafe one', async () => {
      const idFor = async (id: string) =>
        (await ask({ ...bearer(), 'x-request-id': id })).headers['x-request-id']
      expect(await idFor('order-4711_a.b')).toBe('order-4711_a.b')
      for (const unsafe of ['short', 'x'.repeat(65), 'with space here', '"quoted-id"', 'línea-uno'])
        expect(await idFor(unsafe)).toMatch(/^req_[0-9a-f]{32}$/)
    })

    it('tells how much of the limit is left', async () => {
      const { headers } = await ask(bearer())
      expect(headers['ratelimit-policy']).toBe('"key";q=3000;w=60')
      expect(headers.ratelimit).toMatch(/^"key";r=\d+;t=\d+$/)
    })

    it('answers 405 with Allow to another method', async () => {
      const answer = await server.app.inject({
        method: 'DELETE',
        url: path.replace(':provider', 'smile'),
        headers: bearer(),
      })
      expect(answer.statusCode).toBe(405)
      expect(String(answer.headers.allow).split(', ')).toContain(method)
    })

    it('names no server software', async () => {
      const { headers } = await ask(bearer())
      expect(headers.server ?? headers['x-powered-by']).toBeUndefined()
    })
  },
)

describe('elsewhere', () => {
  it.each([
    '/',
    '/api/v2',
    '/api/v2/kyc/verify-nin/',
    '/api/v1/kyc/verify-nin',
    '/%zz',
    '/metrics',
    '/console',
  ])('%s is 404', async (url) => {
    const answer = await server.app.inject({ method: 'GET', url })
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found'])
    expect(answer.headers['x-request-id']).toBe(answer.json().request_id)
  })

  it('live and ready say so', async () => {
    expect((await server.app.inject({ method: 'GET', url: '/health/live' })).json()).toEqual({
      status: 'live',
    })
    const ready = await server.app.inject({ method: 'GET', url: '/health/ready' })
    expect(ready.json()).toEqual({
      status: 'ready',
      store: 'ok',
      audit: 'ok',
      sources: {},
      warnings: {},
      nodes: 1,
    })
  })
})
