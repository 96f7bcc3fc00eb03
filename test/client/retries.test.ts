import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRetryAfter, toDelayMs } from '../../packages/client/src/retry.ts'
import { PHONE } from '../app.ts'
import type { Fault } from './flaky-proxy.ts'
import { type ClientServer, endFirstAttempt, errorOf, openClientServer } from './open-server.ts'

let server: ClientServer
beforeAll(async () => {
  server = await openClientServer()
})
afterAll(() => server.close())

const REQUEST = { nin: '12345678901', phone: PHONE }
const failure = (status: number, code: string, retryable: boolean, headers = {}): Fault => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ success: false, code, message: 'No.', retryable, request_id: 'req_00000000' }),
})
const countOf = async (call: () => Promise<unknown>) => {
  const before = server.proxy.requests.length
  await call()
  return server.proxy.requests.length - before
}

describe('a call is repeated', () => {
  it.each<[string, Fault]>([
    ['a connection that breaks', 'reset'],
    ['a lost response', 'lose'],
    ['half a response', 'truncate'],
    ['a 502 of a proxy', { status: 502, body: '<html>Bad Gateway</html>' }],
    [
      'a 503 with a date in the past',
      failure(503, 'overloaded', true, { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }),
    ],
    ['a 409 of a request in progress', failure(409, 'idempotency_in_progress', true, { 'retry-after': '0' })],
    ['a retryable 500', failure(500, 'internal_error', true)],
  ])('after %s, under the same Idempotency-Key', async (_what, fault) => {
    server.proxy.fail(fault)
    expect(
      await countOf(async () =>
        expect(await server.connect().verifyNin(REQUEST)).toMatchObject({ verified: true }),
      ),
    ).toBe(2)
    const [first, second] = server.proxy.requests.slice(-2).map((headers) => headers['idempotency-key'])
    expect(first).toMatch(/^[0-9a-f-]{36}$/)
    expect(second).toBe(first)
  })

  it('after a request that hangs, when its own time is over', async () => {
    const list = () => server.connect().listSmeBundles()
    expect(await countOf(() => endFirstAttempt(server, list))).toBe(2)
  })

  it('with the Idempotency-Key of the caller; another call has another one', async () => {
    server.proxy.fail('reset')
    await server.connect().verifyNin(REQUEST, { idempotencyKey: 'order-1' })
    await server.connect().verifyNin(REQUEST)
    const keys = server.proxy.requests.slice(-3).map((headers) => headers['idempotency-key'])
    expect(keys.slice(0, 2)).toEqual(['order-1', 'order-1'])
    expect(keys[2]).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('a call is not repeated', () => {
  it.each<[string, Fault]>([
    ['a failure that is not retryable', failure(503, 'source_unavailable', false)],
    ['a 500 of a proxy', { status: 500, body: 'oops' }],
    ['a redirect', { status: 307, headers: { location: '/elsewhere' }, body: '' }],
    ['a 200 that is not JSON', { status: 200, body: '<html>Log in</html>' }],
    [
      'a 200 that is not VERIFIED',
      { status: 200, body: '{"success":true,"data":{"request_reference":"x"}}' },
    ],
    ['a Retry-After beyond the deadline', failure(429, 'rate_limited', true, { 'retry-after': '86400' })],
  ])('after %s', async (_what, fault) => {
    server.proxy.fail(fault)
    expect(await countOf(() => errorOf(server.connect().verifyNin(REQUEST)))).toBe(1)
  })

  it('more often than maxRetries', async () => {
    server.proxy.fail('reset', 'reset', 'reset')
    const client = server.connect({ maxRetries: 1 })
    expect(await countOf(() => errorOf(client.verifyNin(REQUEST)))).toBe(2)
    expect(await countOf(() => client.verifyNin(REQUEST))).toBe(2)
  })

  it('after its deadline', async () => {
    server.proxy.fail('hang')
    const error = await errorOf(server.connect().verifyNin(REQUEST, { timeoutMs: 200 }))
    expect(error).toMatchObject({ code: 'timeout', status: 0, retryable: true })
  })

  it('after it was aborted: before, during a request, and during a wait', async () => {
    const client = server.connect()
    expect((await errorOf(client.verifyNin(REQUEST, { signal: AbortSignal.abort() }))).code).toBe('aborted')
    server.proxy.fail('hang', failure(503, 'overloaded', true, { 'retry-after': '30' }))
    for (const count of [1, 1]) {
      const abort = new AbortController()
      const before = server.proxy.requests.length
      const call = errorOf(client.verifyNin(REQUEST, { signal: abort.signal }))
      while (server.proxy.requests.length === before) await new Promise(setImmediate)
      abort.abort()
      expect(await call).toMatchObject({ code: 'aborted', retryable: false })
      expect(server.proxy.requests.length - before).toBe(count)
    }
  })
})

describe('Retry-After', () => {
  const read = (retryAfter: string, date?: string) =>
    readRetryAfter(new Headers({ 'retry-after': retryAfter, ...(date && { date }) }))

  it('is seconds, or a date by the clock of the server', () => {
    expect(read('30')).toBe(30_000)
    expect(read('Mon, 16 Nov 2026 01:00:30 GMT', 'Mon, 16 Nov 2026 01:00:00 GMT')).toBe(30_000)
    expect(read('Mon, 16 Nov 2026 01:00:00 GMT', 'Mon, 16 Nov 2026 01:00:30 GMT')).toBe(0)
    expect(read(new Date(Date.now() + 3_600_000).toUTCString())).toBeGreaterThan(3_000_000)
  })

  it.each(['', 'soon', '-5', '99999999999'])('is ignored if it is "%s"', (text) => {
    expect(read(text) ?? 0).toBe(0)
  })

  it('is the shortest wait; without it the wait is random and grows up to a limit', () => {
    const many = (retries: number, retryAfterMs?: number) =>
      Array.from({ length: 200 }, () => toDelayMs(retries, retryAfterMs))
    expect(Math.min(...many(0, 2000))).toBeGreaterThanOrEqual(2000)
    expect(Math.max(...many(0))).toBeLessThanOrEqual(500)
    expect(Math.max(...many(3))).toBeGreaterThan(500)
    expect(Math.max(...many(60))).toBeLessThanOrEqual(8000)
  })
})

describe('an argument that cannot be sent', () => {
  it.each([
    [{ key: '' }],
    [{ key: 'a\nb' }],
    [{ baseUrl: 'tabbat.example.com' }],
    [{ baseUrl: 'ftp://tabbat.example.com' }],
    [{ baseUrl: 'https://user:word@tabbat.example.com' }],
    [{ baseUrl: 'https://tabbat.example.com/?a=b' }],
    [{ attemptTimeoutMs: 0 }],
    [{ maxRetries: Number.NaN }],
    [{ maxRetries: Number.POSITIVE_INFINITY }],
    [{ maxRetries: -1 }],
    [{ maxRetries: 1.5 }],
    [{ maxRetries: '4' as never }],
  ])('is refused at once: %j', (options) => {
    expect(() => server.connect(options)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  })

  it.each([
    { idempotencyKey: '' },
    { idempotencyKey: 'ẹ' },
    { idempotencyKey: 'x'.repeat(256) },
    { consentReference: 'two words' },
    { timeoutMs: Number.NaN },
    { respondAsync: -1 },
  ])('is refused before a request: %j', async (options) => {
    const count = await countOf(async () =>
      expect(await errorOf(server.connect().verifyNin(REQUEST, options))).toMatchObject({
        code: 'invalid_argument',
        status: 0,
      }),
    )
    expect(count).toBe(0)
  })
})
