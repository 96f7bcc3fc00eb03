import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Tabbat } from '../../packages/client/src/index.ts'
import { PHONE } from '../app.ts'
import { type ClientServer, ENGINES, endFirstAttempt, errorOf, openClientServer } from './open-server.ts'

describe.each(ENGINES)('on %s', (engine) => {
  let server: ClientServer
  let tabbat: Tabbat
  beforeAll(async () => {
    server = await openClientServer({}, engine)
    tabbat = server.connect()
  })
  afterAll(() => server.close())

  describe('a pending verification', () => {
    it('is pending, is cancelled, also twice, and then gone', async () => {
      const first = await tabbat.verifyNin({ nin: '00000000202', phone: PHONE })
      expect(first).toEqual({ pending: true, reference: first.reference })
      expect(await tabbat.pending.get(first.reference)).toEqual(first)
      await tabbat.pending.cancel(first.reference)
      server.proxy.fail('lose')
      await tabbat.pending.cancel(first.reference)
      expect(await errorOf(tabbat.pending.get(first.reference))).toMatchObject({
        code: 'gone',
        status: 410,
        retryable: false,
      })
    })

    it('has the answer later, verified or not', async () => {
      const asked = { respondAsync: 10 }
      const verified = await tabbat.verifyBvn({ bvn: '12345678905', phone: PHONE, amount: '1' }, asked)
      expect(server.proxy.requests.at(-1)?.prefer).toBe('respond-async, wait=10')
      expect(verified).toMatchObject({ verified: true, person: { service_type: 'BVN' } })
      const refused = await tabbat.verifyNin({ nin: '00000000422', phone: PHONE }, asked)
      expect(refused).toEqual({ verified: false, reference: refused.reference })
      for (const result of [verified, refused])
        expect(await tabbat.pending.get(result.reference)).toEqual(result)
    })

    it('keeps its reference when the response is lost', async () => {
      server.proxy.fail('lose')
      const options = { respondAsync: true, idempotencyKey: 'order-7' }
      const first = await tabbat.verifyNin({ nin: '00000000204', phone: PHONE }, options)
      const second = await tabbat.verifyNin({ nin: '00000000204', phone: PHONE }, options)
      expect(second).toEqual(first)
    })

    it('of another key does not exist', async () => {
      const { reference } = await tabbat.verifyNin({ nin: '00000000202', phone: PHONE })
      const other = server.connect({ key: await server.createKey() })
      for (const call of [other.pending.get, other.pending.cancel])
        expect(await errorOf(call(reference))).toMatchObject({ code: 'not_found', status: 404 })
    })
  })

  describe('a batch', () => {
    const rows = [
      { operation: 'verify_nin', nin: '12345678901', phone: PHONE, reference: 'one' },
      { operation: 'verify_nin', nin: '123', phone: PHONE, reference: 'two' },
      { operation: 'verify_bvn', bvn: '12345678901', phone: PHONE, amount: '1', reference: 'three' },
    ] as const

    it('is sent once when the response is lost, and has results in order', async () => {
      server.proxy.fail('lose')
      const batch = await tabbat.batches.create(rows)
      expect(batch).toMatchObject({ rows: 3, mode: 'test', refusals: [{ line: 2, field: 'nin' }] })
      const [lost, kept] = server.proxy.requests.slice(-2).map((headers) => headers['idempotency-key'])
      expect(kept).toBe(lost)
      expect(await tabbat.batches.get(batch.id)).toMatchObject({ id: batch.id, rows: 3 })
      server.proxy.fail('truncate')
      const results = await Array.fromAsync(tabbat.batches.results(batch.id))
      expect(results.map(({ line, reference }) => [line, reference])).toEqual([
        [1, 'one'],
        [2, 'two'],
        [3, 'three'],
      ])
      expect(results[1]).toMatchObject({ state: 'refused', success: false })
      const { state } = await tabbat.batches.cancel(batch.id)
      expect(['stopping', 'completed', 'cancelled']).toContain(state)
    })

    it('gives each row once and in order, also when the connection breaks', async () => {
      const many = Array.from({ length: 300 }, (_each, index) => ({ ...rows[0], reference: `row ${index}` }))
      const { id } = await tabbat.batches.create(many)
      server.proxy.fail('truncate', 'reset', 'truncate', { status: 503, body: '' })
      const before = server.proxy.requests.length
      const found = await Array.fromAsync(tabbat.batches.results(id))
      expect(found.map(({ reference }) => reference)).toEqual(many.map(({ reference }) => reference))
      expect(server.proxy.requests.length - before).toBe(5)
    })

    it('gives rows before the end of the response, and ends when the caller stops', async () => {
      const { id } = await tabbat.batches.create(rows)
      const direct = server.connect({ baseUrl: server.url })
      for await (const { reference } of direct.batches.results(id)) {
        expect(reference).toBe('one')
        break
      }
      const abort = new AbortController()
      const ended = (async () => {
        for await (const _row of direct.batches.results(id, { signal: abort.signal })) abort.abort()
      })()
      expect((await errorOf(ended)).code).toBe('aborted')
      const late = server.connect({ maxRetries: 0 }).batches.results(id)
      const ending = endFirstAttempt(server, () => errorOf(Array.fromAsync(late)))
      expect((await ending).code).toBe('timeout')
    })

    it('of another key does not exist, and an odd id is not sent', async () => {
      const { id } = await tabbat.batches.create(rows)
      const other = server.connect({ key: await server.createKey() }).batches
      const readAll = (of: string) => Array.fromAsync(other.results(of))
      for (const call of [other.get, readAll, other.cancel])
        expect(await errorOf(call(id))).toMatchObject({ code: 'not_found', status: 404 })
      const before = server.proxy.requests.length
      for (const odd of ['', '../x', 'bat_1/results', undefined as never]) {
        expect((await errorOf(tabbat.batches.get(odd))).code).toBe('invalid_argument')
        expect((await errorOf(tabbat.pending.get(odd))).code).toBe('invalid_argument')
      }
      expect(server.proxy.requests.length).toBe(before)
    })
  })
})
