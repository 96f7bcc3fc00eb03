import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toGroupChange } from '../../src/batches/batch-groups.ts'
import { SCOPES } from '../../src/contract/scope.ts'
import { changeKey } from '../../src/keys/manage.ts'
import { toCells } from '../../src/registry/import/csv.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const URL_OF_BATCHES = '/api/v2/kyc/batches'
const NDJSON = 'application/x-ndjson'

const nin = (line: number, more: object = {}) => ({
  operation: 'verify_nin',
  nin: String(10_000_000_000 + line),
  phone: PHONE,
  ...more,
})
const toNdjson = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n')

const ENGINES = [
  ['SQLite', async () => ({})],
  ['PostgreSQL', async () => ({ TABBAT_DATABASE_URL: await createTestDatabase() })],
] as const

describe.each(ENGINES)('batches on %s', (engine, toSettings) => {
  let server: TestApp
  let url: string
  beforeAll(async () => {
    if (engine === 'PostgreSQL' && !hasPostgres()) return
    server = await openTestApp({
      ...(await toSettings()),
      TABBAT_BATCH_RATE: '100000',
      TABBAT_BATCH_CONCURRENCY: '16',
      TABBAT_BATCHES_PER_KEY: '3',
    })
    url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(() => server?.close())
  const test = it.skipIf(engine === 'PostgreSQL' && !hasPostgres())

  const send = (payload: string | Buffer, type = NDJSON, headers: Record<string, string> = bearer()) =>
    server.app.inject({
      method: 'POST',
      url: URL_OF_BATCHES,
      headers: { 'content-type': type, ...headers },
      payload,
    })
  const get = (id: string, headers = bearer()) =>
    server.app.inject({ method: 'GET', url: `${URL_OF_BATCHES}/${id}`, headers })
  const waitForEnd = async (id: string, headers = bearer()) => {
    await expect.poll(async () => (await get(id, headers)).json().data.ended_at).not.toBeNull()
    return (await get(id, headers)).json().data
  }
  const readResults = async (id: string, headers: Record<string, string> = bearer()) => {
    const answer = await server.app.inject({ url: `${URL_OF_BATCHES}/${id}/results`, headers })
    return answer.body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }

  /** The answer of the same person to a single verification. */
  const readSingle = async () => {
    const payload = { nin: nin(1).nin, phone: PHONE }
    const url = '/api/v2/kyc/verify-nin'
    return (await server.app.inject({ method: 'POST', url, headers: bearer(), payload })).json()
  }

  describe('202', () => {
    test('gives a row of a test key up as soon as a single verification of it', async () => {
      const { id } = (await send(toNdjson([nin(0, { nin: '00000000503' })]))).json().data
      const life = server.context.store.database.prepare(
        'SELECT expires_at - accepted_at AS ms FROM queued_verifications WHERE batch = $1',
      )
      await expect.poll(async () => (await life.get(id)) !== undefined).toBe(true)
      // It is due some milliseconds after it was accepted.
      expect(Number((await life.get(id))?.ms)).toBeLessThan(40_000)
      await server.app.inject({ method: 'DELETE', url: `${URL_OF_BATCHES}/${id}`, headers: bearer() })
      await waitForEnd(id)
    })

    test('takes NDJSON, refuses bad rows alone, and answers each row as a single verification', async () => {
      const rows = [
        nin(1, { reference: 'Customer "1"' }),
        { operation: 'verify_nin', nin: '123', reference: 'bad' },
        nin(0, { nin: '00000000422' }),
        { operation: 'verify_bvn', bvn: '22345678901', phone: PHONE, amount: '10.00' },
      ]
      const answer = await send(`${toNdjson(rows)}\n\nnot json\n`)
      expect(answer.statusCode).toBe(202)
      const { data } = answer.json()
      expect(answer.headers.location).toBe(`${URL_OF_BATCHES}/${data.id}`)
      expect(data).toMatchObject({
        state: 'running',
        mode: 'test',
        rows: 5,
        counts: { refused: 2, waiting: 3 },
      })
      expect(data.refusals).toEqual([
        {
          line: 2,
          reference: 'bad',
          field: 'nin',
          message: 'nin must be 11 digits, or a virtual NIN: two letters, 12 digits and two letters',
        },
        { line: 2, reference: 'bad', field: 'phone', message: 'phone is required' },
        { line: 6, reference: null, field: null, message: 'The row is not valid JSON.' },
      ])
      const ended = await waitForEnd(data.id)
      expect(ended).toMatchObject({
        state: 'completed',
        estimated_end: null,
        counts: { waiting: 0, verified: 2, not_verified: 1, refused: 2, failed: 0, expired: 0, cancelled: 0 },
      })
      const results = await readResults(data.id)
      expect(results.map(({ line, state, status, code }) => [line, state, status, code])).toEqual([
        [1, 'done', 200, null],
        [2, 'refused', 422, 'validation_failed'],
        [3, 'done', 422, 'not_verified'],
        [4, 'done', 200, null],
        [6, 'refused', 422, 'validation_failed'],
      ])
      const single = await readSingle()
      const { request_reference: _one, ...data1 } = results[0].data
      const { request_reference: _other, ...expected } = single.data
      expect(data1).toEqual(expected)
      expect(results[0]).toMatchObject({ reference: 'Customer "1"', success: true, match: null })
      expect(results[1]).toMatchObject({ reference: 'bad', state: 'refused' })
    })

    test('compares the names and the date of birth of a row', async () => {
      const single = await readSingle()
      const { first_name, last_name, date_of_birth } = single.data.personal_info
      const rows = [
        nin(1, { first_name, last_name, date_of_birth }),
        nin(1, { first_name: 'Nemo', date_of_birth: '1901-01-01' }),
      ]
      const { data } = (await send(toNdjson(rows))).json()
      await waitForEnd(data.id)
      expect((await readResults(data.id)).map(({ match }) => match)).toEqual([
        { first_name: 'exact', last_name: 'exact', date_of_birth: 'exact' },
        { first_name: 'no', date_of_birth: 'no' },
      ])
    })

    test('takes CSV and a JSON array', async () => {
      const csv = await send(
        `operation,nin,phone\r\nverify_nin,12345678901,${PHONE}\r\n`,
        'text/csv; charset=utf-8',
      )
      const json = await send(JSON.stringify([nin(5), nin(6)]), 'application/json')
      expect([csv.statusCode, json.statusCode]).toEqual([202, 202])
      expect(await waitForEnd(csv.json().data.id)).toMatchObject({ counts: { verified: 1 } })
      expect(await waitForEnd(json.json().data.id)).toMatchObject({ counts: { verified: 2 } })
      expect((await readResults(csv.json().data.id))[0].line).toBe(2)
    })

    test('refuses rows whose scope the key lacks', async () => {
      const headers = bearer(await server.createKey({ scopes: ['kyc:nin'] }))
      const bvn = { operation: 'verify_bvn', bvn: '22345678901', phone: PHONE, amount: '1' }
      const { data } = (await send(toNdjson([bvn, nin(1)]), NDJSON, headers)).json()
      expect(data.refusals).toMatchObject([{ line: 1, field: 'operation' }])
      expect(await waitForEnd(data.id, headers)).toMatchObject({ counts: { verified: 1, refused: 1 } })
    })

    test('withholds answers whose scope the key has lost since', async () => {
      const key = await server.createKey({ scopes: ['kyc:nin', 'kyc:bvn'] })
      const headers = bearer(key)
      const bvn = { operation: 'verify_bvn', bvn: '22345678901', phone: PHONE, amount: '1' }
      const { id } = (await send(toNdjson([bvn, nin(1)]), NDJSON, headers)).json().data
      await waitForEnd(id, headers)
      await changeKey(server.context, key.slice(9, 17), { scopes: ['kyc:nin'] })
      await expect
        .poll(() => readResults(id, headers))
        .toMatchObject([
          { status: 403, success: false, code: 'forbidden', data: null },
          { status: 200, success: true },
        ])
    })

    test('gives the same batch for the same Idempotency-Key and body, and 422 for another body', async () => {
      const headers = { ...bearer(), 'idempotency-key': `batch-${engine}` }
      const first = await send(toNdjson([nin(1), {}]), NDJSON, headers)
      const again = await send(toNdjson([nin(1), {}]), NDJSON, headers)
      expect(again.statusCode).toBe(202)
      expect(again.json().data.id).toBe(first.json().data.id)
      expect(again.json().data.refusals).toEqual(first.json().data.refusals)
      expect(again.headers['idempotent-replayed']).toBe('true')
      const other = await send(toNdjson([nin(2)]), NDJSON, headers)
      expect([other.statusCode, other.json().code]).toEqual([422, 'idempotency_key_reused'])
      await waitForEnd(first.json().data.id)
    })

    test('is in the audit log, with its reading, and each row as a verification', async () => {
      const { data } = (await send(toNdjson([nin(8)]))).json()
      await waitForEnd(data.id)
      const [result] = await readResults(data.id)
      const rows = await server.context.store.database
        .prepare('SELECT phase, outcome, detail FROM audit WHERE request_reference = $1 ORDER BY time')
        .all(data.id)
      expect(rows.map(({ phase }) => phase)).toEqual(['batch_accepted', 'batch_read'])
      expect(rows[0]?.detail).toBe('1 rows, 0 refused')
      const row = await server.context.store.database
        .prepare(`SELECT outcome FROM audit WHERE request_reference = $1 AND phase = 'outcome'`)
        .get(result.data.request_reference)
      expect(row?.outcome).toBe('verified')
    })
  })

  describe('results', () => {
    test('are CSV if the client asks for it, with no formula', async () => {
      const { data } = (await send(toNdjson([nin(1, { reference: '=1+1' })]))).json()
      await waitForEnd(data.id)
      const answer = await server.app.inject({
        url: `${URL_OF_BATCHES}/${data.id}/results`,
        headers: { ...bearer(), accept: 'text/csv' },
      })
      expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8')
      const [names = [], cells = []] = answer.body.split('\r\n').map(toCells)
      expect(cells[names.indexOf('reference')]).toBe("'=1+1")
      expect(cells[names.indexOf('verification_status')]).toBe('VERIFIED')
    })

    test('say of a row that no source answered in time that it expired, with the answer that is kept', async () => {
      const { id } = (await send(toNdjson([nin(0, { nin: '00000000503', reference: 'late' })]))).json().data
      const expire = server.context.store.database.prepare(
        'UPDATE queued_verifications SET expires_at = accepted_at WHERE batch = $1',
      )
      await expect.poll(() => expire.run(id)).toBe(1)
      expect(await waitForEnd(id)).toMatchObject({ counts: { expired: 1 } })
      expect(await readResults(id)).toMatchObject([
        { reference: 'late', state: 'expired', status: 504, success: false, code: 'expired' },
      ])
    })

    test('come in the order of the body, also of many rows', async () => {
      const { data } = (
        await send(toNdjson(Array.from({ length: 450 }, (_each, index) => nin(index))))
      ).json()
      await waitForEnd(data.id)
      const lines = (await readResults(data.id)).map(({ line }) => line)
      expect(lines).toEqual(Array.from({ length: 450 }, (_each, index) => index + 1))
    })
  })

  describe('another key', () => {
    test('gets the same 404 as for an unknown batch', async () => {
      const { data } = (await send(toNdjson([nin(1)]))).json()
      const other = bearer(await server.createKey())
      const unknown = `bat_${'0'.repeat(36)}`
      for (const [method, rest] of [
        ['GET', ''],
        ['GET', '/results'],
        ['DELETE', ''],
      ] as const) {
        const ask = async (id: string) => {
          const answer = await server.app.inject({
            method,
            url: `${URL_OF_BATCHES}/${id}${rest}`,
            headers: { ...other, 'x-request-id': 'same-request-id' },
          })
          return [answer.statusCode, answer.body]
        }
        expect(await ask(data.id)).toEqual(await ask(unknown))
        expect((await ask('nonsense'))[0]).toBe(404)
      }
      await waitForEnd(data.id)
    })
  })

  describe('the audit log', () => {
    const accepted = { phase: 'batch_accepted', operation: 'create_batch' }

    test('has no row of a batch that is not accepted, and one of each change', async () => {
      const { audit, store } = server.context
      const headers = bearer(await server.createKey())
      const { id } = (await send(toNdjson([nin(0, { nin: '00000000503' })]), NDJSON, headers)).json().data
      const cancel = () => server.app.inject({ method: 'DELETE', url: `${URL_OF_BATCHES}/${id}`, headers })
      await Promise.all([cancel(), cancel(), cancel()])
      await waitForEnd(id, headers)
      const read = async () => (await store.audit.byReference(id)).map(({ phase }) => phase)
      expect(await read()).toEqual(['batch_accepted', 'batch_cancelled'])
      // Another process has taken its place, or it was accepted before.
      const received = { rows: 1, refused: 0, fingerprint: Buffer.of(1) }
      const change = toGroupChange({ kind: 'accept', id, owner: audit.owner, ...received })
      const refusal = await audit.recordChange(change, [{ ...accepted, request_reference: id }])
      expect(refusal).toBe('lease_lost')
      expect(await read()).toHaveLength(2)
    })
  })

  describe('errors', () => {
    test.each([
      ['{}', 'application/json', 422, 'validation_failed'],
      ['[{]', 'application/json', 400, 'malformed_json'],
      ['', NDJSON, 422, 'validation_failed'],
      ['12345678901,08031234567', 'text/csv', 422, 'validation_failed'],
      ['x', 'text/plain', 415, 'unsupported_batch_type'],
    ])('%j as %s is %i', async (body, type, status, code) => {
      const answer = await send(body, type)
      expect([answer.statusCode, answer.json().code]).toEqual([status, code])
      expect(answer.body).not.toContain('12345678901')
    })

    test('401 and 403 come before the body', async () => {
      expect((await send('x', 'text/plain', {})).statusCode).toBe(401)
      const without = bearer(
        await server.createKey({ scopes: SCOPES.filter((scope) => !scope.startsWith('kyc')) }),
      )
      expect((await send('x', 'text/plain', without)).statusCode).toBe(403)
    })

    test('413 for more than 50 000 rows, and nothing of them runs', async () => {
      const headers = bearer(await server.createKey())
      const answer = await send('{}\n'.repeat(50_001), NDJSON, headers)
      expect([answer.statusCode, answer.json().code]).toEqual([413, 'batch_too_large'])
      while ((await server.context.batches.deleteExpired()) > 0);
      const left = await server.context.store.database
        .prepare(`SELECT COUNT(*) AS n FROM batches WHERE state = 'broken'`)
        .get()
      expect(Number(left?.n)).toBe(0)
    })
  })

  describe('a body that breaks', () => {
    test('leaves nothing, and the same Idempotency-Key can be used again', async () => {
      const key = await server.createKey()
      const headers = { ...bearer(key), 'content-type': NDJSON, 'idempotency-key': 'broken' }
      const sent = request(new URL(URL_OF_BATCHES, url), { method: 'POST', headers })
      sent.on('error', () => {})
      sent.write(`${toNdjson(Array.from({ length: 500 }, (_each, index) => nin(index)))}\n`)
      const count = async (state: string) =>
        Number(
          (
            await server.context.store.database
              .prepare('SELECT COUNT(*) AS n FROM batches WHERE state = $1')
              .get(state)
          )?.n,
        )
      await expect.poll(() => count('receiving')).toBe(1)
      sent.destroy()
      await expect.poll(() => count('broken')).toBe(1)
      const again = await send(toNdjson([nin(1)]), NDJSON, headers)
      expect(again.statusCode).toBe(202)
      expect(again.json().data.rows).toBe(1)
      await waitForEnd(again.json().data.id, bearer(key))
    })
  })

  describe('many bodies at the same time', () => {
    test('are bounded: a further one gets 503, and is taken when another has ended', async () => {
      const keys = await Promise.all(Array.from({ length: 2 }, () => server.createKey()))
      const begin = (key: string) => {
        const headers = { ...bearer(key), 'content-type': NDJSON }
        const sent = request(new URL(URL_OF_BATCHES, url), { method: 'POST', headers })
        sent.on('error', () => {})
        sent.write(`${toNdjson([nin(1)])}\n`)
        return sent
      }
      const count = async () =>
        Number(
          (
            await server.context.store.database
              .prepare(`SELECT COUNT(*) AS n FROM batches WHERE state = 'receiving'`)
              .get()
          )?.n,
        )
      const open = [begin(keys[0] as string), begin(keys[0] as string)]
      await expect.poll(count).toBe(2)
      const third = await send(toNdjson([nin(1)]), NDJSON, bearer(keys[0]))
      expect([third.statusCode, third.json().code]).toEqual([503, 'overloaded'])
      open.push(begin(keys[1] as string), begin(keys[1] as string))
      await expect.poll(count).toBe(4)
      const refused = await send(toNdjson([nin(1)]))
      expect([refused.statusCode, refused.json().code]).toEqual([503, 'overloaded'])
      for (const sent of open) sent.destroy()
      await expect.poll(count).toBe(0)
      // The place of a body becomes free shortly after its row has gone.
      await expect.poll(async () => (await send(toNdjson([nin(1)]))).statusCode).toBe(202)
    })
  })

  describe('a batch that is cancelled', () => {
    test('ends without the rows that have not begun, and stays so', async () => {
      const key = bearer(await server.createKey())
      // No source can be reached, so that they are still there.
      const rows = Array.from({ length: 60 }, () => nin(0, { nin: '00000000503' }))
      const { data } = (await send(toNdjson(rows), NDJSON, key)).json()
      const cancel = () =>
        server.app.inject({ method: 'DELETE', url: `${URL_OF_BATCHES}/${data.id}`, headers: key })
      const answer = await cancel()
      expect([answer.statusCode, answer.json().message]).toEqual([200, 'Batch cancelled'])
      const ended = await waitForEnd(data.id, key)
      expect(ended.state).toBe('cancelled')
      expect(ended.counts.cancelled).toBeGreaterThan(0)
      expect((await cancel()).json().data).toEqual(ended)
    })

    test('and had ended before, is not called cancelled, and leaves no audit row', async () => {
      const { data } = (await send(toNdjson([nin(1)]))).json()
      await waitForEnd(data.id)
      const url = `${URL_OF_BATCHES}/${data.id}`
      const answer = await server.app.inject({ method: 'DELETE', url, headers: bearer() })
      expect(answer.json()).toMatchObject({
        message: 'Batch had ended; nothing was cancelled',
        data: { state: 'completed', counts: { verified: 1, cancelled: 0 } },
      })
      const rows = await server.context.store.audit.byReference(data.id)
      expect(rows.map(({ phase }) => phase)).toEqual(['batch_accepted'])
    })

    test('makes room for another: a key has a few at a time', async () => {
      const key = bearer(await server.createKey())
      const waiting = toNdjson([nin(0, { nin: '00000000503' })])
      const ids: string[] = []
      for (let each = 0; each < 3; each++) ids.push((await send(waiting, NDJSON, key)).json().data.id)
      const full = await send(waiting, NDJSON, key)
      expect([full.statusCode, full.json().code]).toEqual([503, 'queue_full'])
      for (const id of ids)
        await server.app.inject({ method: 'DELETE', url: `${URL_OF_BATCHES}/${id}`, headers: key })
      await waitForEnd(String(ids[0]), key)
      expect((await send(toNdjson([nin(1)]), NDJSON, key)).statusCode).toBe(202)
    })
  })
})

it('writes long steps of an upload while nothing else is asked, and short ones otherwise', async () => {
  const { app, context, close } = await openTestApp()
  const { addRows } = context.store.batches
  const sizes: number[] = []
  let isAlone = true
  const verify = () => {
    const payload = { nin: nin(1).nin, phone: PHONE }
    return app.inject({ method: 'POST', url: '/api/v2/kyc/verify-nin', headers: bearer(), payload })
  }
  Object.assign(context.store.batches, {
    addRows: async (...args: Parameters<typeof addRows>) => {
      sizes.push(args[1].length)
      if (!isAlone) await verify()
      return addRows(...args)
    },
  })
  // All rows are refused, so that none is verified meanwhile.
  const payload = toNdjson(Array.from({ length: 1000 }, () => ({ operation: 'verify_nin' })))
  const upload = () =>
    app.inject({
      ...{ method: 'POST', url: URL_OF_BATCHES, payload },
      headers: { 'content-type': NDJSON, ...bearer() },
    })
  expect((await upload()).statusCode).toBe(202)
  expect(sizes.splice(0)).toEqual([200, 200, 200, 200, 200])
  isAlone = false
  expect((await upload()).statusCode).toBe(202)
  expect(sizes).toContain(20)
  await close()
})
