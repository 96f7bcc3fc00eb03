import { afterEach, describe, expect, it } from 'vitest'
import { revokeKey, rollKey } from '../../src/keys/manage.ts'
import { erasePerson } from '../../src/people/erase-person.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { createQueueSignals } from '../../src/verification/queue/open-queue.ts'
import { bearer, openTestApp, PHONE } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NIN = '12345678901'
const ASYNC = { prefer: 'respond-async' }
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

type Body = {
  readonly success: boolean
  readonly code?: string
  readonly data?: { readonly request_reference: string; readonly verification_status: string }
}

/** A server on a real socket. */
async function openServer(engine: string, settings: Record<string, string> = {}) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({
    ...database,
    TABBAT_PENDING_RETRY: '1s',
    TABBAT_PENDING_RETRY_MAX: '1s',
    ...settings,
  })
  opened.push(server)
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const call = async (method: string, path: string, key: string | undefined, headers = {}, body?: object) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: (text === '' ? {} : JSON.parse(text)) as Body,
    }
  }
  const toPath = (reference: string) => `/api/v2/kyc/verifications/${reference}`
  const { queue, store } = server.context
  return {
    ...server,
    verify: (
      headers: object,
      { nin = NIN, phone = PHONE, key }: { nin?: string; phone?: string; key?: string } = {},
    ) => call('POST', '/api/v2/kyc/verify-nin', key, headers, { nin, phone }),
    read: (reference: string, key?: string) => call('GET', toPath(reference), key),
    cancel: (reference: string, key?: string) => call('DELETE', toPath(reference), key),
    ended: async (reference: string, lineage = 'sandbox0') => {
      const isPending = async () => {
        const found = await store.queue.find(reference, lineage, Date.now())
        if (found?.state !== 'pending') return false
        await queue.signals.waitForEnd(reference, 200)
        return true
      }
      await expect.poll(isPending, { interval: 0 }).toBe(false)
    },
    timeline: async (reference: string) =>
      (await store.audit.byReference(reference)).map(({ phase, outcome }) => `${phase} ${outcome}`),
  }
}

const toReference = ({ body }: { readonly body: Body }) => body.data?.request_reference ?? ''
const toKeyId = (key: string) => key.slice(9, 17)

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('a pending verification on %s', (engine) => {
  it('is accepted with 202, and then answered exactly as the verification would have been', async () => {
    const { verify, read, ended, timeline, context } = await openServer(engine)
    const accepted = await verify(ASYNC)
    const reference = toReference(accepted)
    expect(accepted.status).toBe(202)
    expect(accepted.body).toEqual({
      success: false,
      code: 'pending',
      message: expect.any(String),
      retryable: false,
      request_id: accepted.headers.get('x-request-id'),
      data: {
        request_reference: expect.stringMatching(/^ver_[0-9a-z]{36}$/),
        verification_status: 'PENDING',
      },
    })
    expect(accepted.headers.get('preference-applied')).toBe('respond-async')
    expect(accepted.headers.get('location')).toBe(`/api/v2/kyc/verifications/${reference}`)
    expect(accepted.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(accepted.headers.get('cache-control')).toBe('no-store')
    await ended(reference)
    const answer = await read(reference)
    const usual = await verify({})
    expect(answer.status).toBe(200)
    expect({ ...answer.body, data: { ...answer.body.data, request_reference: '' } }).toEqual({
      ...usual.body,
      data: { ...usual.body.data, request_reference: '' },
    })
    expect(toReference(answer)).toBe(reference)
    expect((await read(reference)).text).toBe(answer.text)
    expect(await timeline(reference)).toEqual([
      'queued null',
      'intent null',
      'outcome verified',
      'replay verified',
      'replay verified',
    ])
    const row = await context.store.database.prepare('SELECT question FROM queued_verifications').get()
    expect(row?.question).toBeNull()
  })

  it('is found by callers of another process when it has ended', async () => {
    const { verify, context } = await openServer(engine)
    const { listEnded } = context.store.queue
    const pending = toReference(await verify(ASYNC, { nin: '00000000503' }))
    const reference = toReference(await verify(ASYNC))
    // The signals of another process do not tell of an end in this one.
    expect(await createQueueSignals(listEnded).waitForEnd(reference, 60_000)).toBe(false)
    expect(await listEnded([reference, pending, 'unknown'])).toEqual([reference, 'unknown'])
    expect(await listEnded([])).toEqual([])
  })

  it('gives the ordinary answer when it is there in time', async () => {
    const { verify } = await openServer(engine)
    const answer = await verify({ prefer: 'respond-async, wait=10' })
    expect(answer.status).toBe(200)
    expect(answer.body.data?.verification_status).toBe('VERIFIED')
    expect(answer.headers.get('preference-applied')).toBeNull()
    expect((await verify({ prefer: 'respond-async, wait=10' }, { nin: '00000000422' })).status).toBe(422)
  })

  it('leaves a request without the header as it is', async () => {
    const { verify, context } = await openServer(engine)
    expect((await verify({})).status).toBe(200)
    expect((await verify({ prefer: 'return=minimal, wait=5' })).status).toBe(200)
    expect((await verify({}, { nin: '00000000503' })).status).toBe(503)
    expect(await context.store.queue.countPending()).toEqual([])
  })

  it('of the sandbox is answered after its time', async () => {
    const { verify, read, ended } = await openServer(engine)
    const [verified, not] = await Promise.all([
      verify({}, { nin: '00000000202' }),
      verify({ prefer: 'respond-async' }, { nin: '00000000204' }),
    ])
    expect([verified.status, not.status]).toEqual([202, 202])
    expect(verified.headers.get('retry-after')).toBe('5')
    expect(verified.headers.get('preference-applied')).toBeNull()
    expect((await read(toReference(verified))).status).toBe(202)
    await ended(toReference(verified))
    await ended(toReference(not))
    expect((await read(toReference(verified))).status).toBe(200)
    expect((await read(toReference(not))).body).toMatchObject({ code: 'not_verified' })
  })

  it('is known to its key alone', async () => {
    const { verify, read, cancel, ended, createKey } = await openServer(engine)
    const [key, other] = [await createKey(), await createKey()]
    const reference = toReference(await verify(ASYNC, { key }))
    await ended(reference, toKeyId(key))
    const withoutId = (text: string) => text.replace(/req_[0-9a-f]+/, 'req')
    const unknown = await read(reference.replaceAll(/[0-9a-z]{5}$/g, 'zzzzz'), other)
    for (const answer of [await read(reference, other), await cancel(reference, other)]) {
      expect(answer.status).toBe(404)
      expect(withoutId(answer.text)).toBe(withoutId(unknown.text))
      expect([...answer.headers.keys()]).toEqual([...unknown.headers.keys()])
    }
    expect((await read(reference, key)).status).toBe(200)
    expect((await read('ver_x', key)).status).toBe(404)
    expect((await read(reference, 'tbt_test_wrong')).status).toBe(401)
    const catalogueOnly = await createKey({ scopes: ['catalogue:read'] })
    expect((await read(reference, catalogueOnly)).status).toBe(403)
  })

  it('can be cancelled before it begins, once and again, and not afterwards', async () => {
    const { verify, read, cancel, ended, timeline } = await openServer(engine)
    const reference = toReference(await verify({}, { nin: '00000000202' }))
    const cancelled = await cancel(reference)
    expect([cancelled.status, cancelled.text]).toEqual([204, ''])
    expect((await cancel(reference)).status).toBe(204)
    expect((await read(reference)).body).toMatchObject({ code: 'gone' })
    expect(await timeline(reference)).toEqual(['queued null', 'outcome cancelled'])
    const answered = toReference(await verify(ASYNC))
    await ended(answered)
    const tooLate = { code: 'already_begun', data: { request_reference: answered } }
    expect((await cancel(answered)).body).toMatchObject(tooLate)
  })

  it('is one under one Idempotency-Key', async () => {
    const { verify, read, ended, cancel } = await openServer(engine)
    const header = { 'idempotency-key': 'order-1' }
    const nin = '00000000202'
    const first = await verify({ ...ASYNC, ...header }, { nin })
    const [again, plain] = [await verify({ ...ASYNC, ...header }, { nin }), await verify(header, { nin })]
    for (const answer of [again, plain]) {
      expect(answer.status).toBe(202)
      expect(toReference(answer)).toBe(toReference(first))
      expect(answer.headers.get('location')).toBe(first.headers.get('location'))
      expect(answer.headers.get('idempotent-replayed')).toBe('true')
    }
    expect((await verify({ ...ASYNC, ...header }, { nin: NIN })).body.code).toBe('idempotency_key_reused')
    await ended(toReference(first))
    const answer = await read(toReference(first))
    expect(answer.status).toBe(200)
    for (const replayed of [await verify(header, { nin }), await verify({ ...ASYNC, ...header }, { nin })]) {
      expect(replayed.text).toBe(answer.text)
      expect(replayed.headers.get('idempotent-replayed')).toBe('true')
    }
    const other = { ...ASYNC, 'idempotency-key': 'order-2' }
    const second = toReference(await verify(other, { nin }))
    await cancel(second)
    expect(toReference(await verify(other, { nin }))).not.toBe(second)
  })

  it('replays a response that the Idempotency-Key had before', async () => {
    const { verify } = await openServer(engine)
    const header = { 'idempotency-key': 'order-1' }
    const first = await verify(header)
    const again = await verify({ ...ASYNC, ...header })
    expect([again.status, again.text]).toEqual([200, first.text])
  })

  it('is refused when too many are pending', async () => {
    const { verify, createKey } = await openServer(engine, {
      TABBAT_PENDING_MAX_PER_KEY: '2',
      TABBAT_PENDING_MAX: '3',
    })
    const [one, two] = [await createKey(), await createKey()]
    const nin = '00000000202'
    const header = { 'idempotency-key': 'order-1' }
    const statuses: (string | undefined)[] = []
    for (const key of [one, one, one, two, two]) statuses.push((await verify(ASYNC, { nin, key })).body.code)
    expect(statuses).toEqual(['pending', 'pending', 'queue_full', 'pending', 'queue_full'])
    const full = await verify({ ...ASYNC, ...header }, { nin, key: one })
    expect([full.status, full.headers.get('retry-after')]).toEqual([503, '30'])
    // The Idempotency-Key is free: the ordinary request runs.
    expect((await verify(header, { key: one })).status).toBe(200)
  })

  it('expires when no source answers, and is gone after its time', async () => {
    const { verify, read, ended, timeline, context } = await openServer(engine)
    const accepted = await verify({ ...ASYNC, 'idempotency-key': 'order-1' }, { nin: '00000000503' })
    const reference = toReference(accepted)
    const { database, queue } = context.store
    await database.prepare('UPDATE queued_verifications SET expires_at = expires_at - 30000').run()
    await ended(reference)
    const expired = await read(reference)
    expect(expired.status).toBe(504)
    expect(expired.body).toMatchObject({
      code: 'expired',
      data: { request_reference: reference, verification_status: 'EXPIRED' },
    })
    const rows = await timeline(reference)
    expect(rows.filter((row) => row === 'outcome expired')).toHaveLength(1)
    expect(rows.filter((row) => row.startsWith('outcome'))).toHaveLength(1)
    const again = await verify({ 'idempotency-key': 'order-1' }, { nin: '00000000503' })
    expect(again.text).toBe(expired.text)
    const pass = (ms: number) =>
      database.prepare('UPDATE queued_verifications SET expires_at = expires_at - $1').run(ms)
    await pass(86_400_000)
    expect((await read(reference)).status).toBe(410)
    await queue.deleteExpired(0, Date.now())
    expect((await read(reference)).status).toBe(410)
    await pass(7 * 86_400_000)
    await queue.deleteExpired(0, Date.now())
    expect((await read(reference)).status).toBe(404)
  })

  it('ends with the refusal that the verification would have had', async () => {
    const { verify, read, ended } = await openServer(engine)
    const reference = toReference(await verify(ASYNC, { nin: '00000000429' }))
    await ended(reference)
    const answer = await read(reference)
    expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited'])
    // A client that honours `retryable` needs to know when.
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('is answered after the key was rolled, to the successor, and never after it was revoked', async () => {
    const server = await openServer(engine)
    const { verify, read, ended, createKey, context, timeline } = server
    const deps = { ...context, keyring: context.keyring() }
    const [rolled, revoked] = [await createKey(), await createKey()]
    const nin = '00000000202'
    const [kept, stopped] = [
      toReference(await verify(ASYNC, { nin, key: rolled })),
      toReference(await verify(ASYNC, { nin, key: revoked })),
    ]
    const successor = await rollKey(deps, toKeyId(rolled), 0)
    await revokeKey(deps, toKeyId(revoked))
    await ended(kept, toKeyId(rolled))
    await ended(stopped, toKeyId(revoked))
    expect((await read(kept, successor.text)).status).toBe(200)
    expect((await read(kept, rolled)).status).toBe(401)
    expect(await timeline(stopped)).toEqual(['queued null', 'outcome cancelled'])
  })

  it('is erased with its person', async () => {
    const { verify, read, context, timeline, ended } = await openServer(engine)
    const nin = '00000000202'
    const answered = toReference(await verify(ASYNC, { nin: '22345678901' }))
    await ended(answered)
    const waiting = toReference(await verify({}, { nin }))
    const deps = { ...context, keyring: context.keyring() }
    expect(await erasePerson(deps, 'nin', nin)).toMatchObject({ queued: 1 })
    expect(await erasePerson(deps, 'nin', '22345678901')).toMatchObject({ queued: 1 })
    expect((await read(waiting)).status).toBe(410)
    expect((await read(answered)).status).toBe(410)
    expect(await timeline(waiting)).toEqual(['queued null', 'outcome cancelled'])
    expect(await context.store.queue.countPending()).toEqual([])
  })
})

describe.each(engines)('a pending verification of a vendor on %s', (engine) => {
  const phone = `0${toPhoneCoreOf(NIN)}`
  async function openVendorServer(settings: Record<string, string> = {}) {
    const vendor = await openStandIn(dojah)
    opened.push(vendor)
    const server = await openServer(engine, { TABBAT_NIN_SOURCES: 'dojah', ...vendor.settings, ...settings })
    return { ...server, vendor, key: await server.createKey({ mode: 'live' }) }
  }

  it('is asked for again until the vendor answers, and leaves no failed match', async () => {
    const { vendor, verify, read, ended, key, timeline, context } = await openVendorServer()
    vendor.refuse(503)
    const accepted = await verify(ASYNC, { key, phone })
    const reference = toReference(accepted)
    expect(accepted.status).toBe(202)
    await expect.poll(() => timeline(reference)).toContainEqual(expect.stringMatching(/^attempt/))
    vendor.refuse(undefined)
    await ended(reference, toKeyId(key))
    expect((await read(reference, key)).status).toBe(200)
    const rows = await timeline(reference)
    expect(rows.slice(0, 3)).toEqual(['queued null', 'intent null', 'attempt source_unavailable'])
    expect(rows.filter((row) => row.startsWith('outcome'))).toEqual(['outcome verified'])
    const count = context.store.database.prepare('SELECT COUNT(*) AS found FROM attempts')
    await expect.poll(async () => Number((await count.get())?.found)).toBe(0)
  })

  it('makes no more paid calls than its budget, and ends then', async () => {
    const { vendor, verify, read, ended, key, context } = await openVendorServer()
    vendor.fail('malformed_json')
    const reference = toReference(await verify(ASYNC, { key, phone }))
    await ended(reference, toKeyId(key))
    expect((await read(reference, key)).body.code).toBe('expired')
    expect(vendor.count()).toBe(2)
    const row = await context.store.database.prepare('SELECT paid_calls FROM queued_verifications').get()
    expect(Number(row?.paid_calls)).toBe(2)
  })

  it('is begun by a key that asks for it, when no source can answer', async () => {
    const { vendor, verify, read, ended, createKey, timeline } = await openVendorServer()
    const key = await createKey({ mode: 'live', asyncWhenDown: true })
    expect((await verify({}, { key, phone })).status).toBe(200)
    vendor.refuse(503)
    const header = { 'idempotency-key': 'order-1' }
    const accepted = await verify(header, { key, phone })
    const reference = toReference(accepted)
    expect([accepted.status, accepted.headers.get('preference-applied')]).toEqual([202, null])
    expect(toReference(await verify(header, { key, phone }))).toBe(reference)
    vendor.refuse(undefined)
    await ended(reference, toKeyId(key))
    const answer = await read(reference, key)
    expect(answer.status).toBe(200)
    expect((await verify(header, { key, phone })).text).toBe(answer.text)
    const rows = await timeline(reference)
    expect(rows.slice(0, 2)).toEqual(['intent null', 'attempt source_unavailable'])
    expect(rows.filter((row) => row.startsWith('outcome'))).toEqual(['outcome verified'])
  })

  it('counts the paid calls that were made before it was pending', async () => {
    const { vendor, verify, createKey, ended, read } = await openVendorServer()
    const key = await createKey({ mode: 'live', asyncWhenDown: true })
    vendor.fail('malformed_json')
    const accepted = await verify({}, { key, phone })
    expect(accepted.status).toBe(202)
    expect(vendor.count()).toBe(1)
    await ended(toReference(accepted), toKeyId(key))
    expect((await read(toReference(accepted), key)).body.code).toBe('expired')
    expect(vendor.count()).toBe(2)
  })

  it('counts wrong guesses, and refuses further ones', async () => {
    const { verify, read, ended, key } = await openVendorServer()
    const wrong = '08099999999'
    for (let guesses = 0; guesses < 5; guesses++) {
      const reference = toReference(await verify(ASYNC, { key, phone: wrong }))
      await ended(reference, toKeyId(key))
      expect((await read(reference, key)).body.code).toBe('not_verified')
    }
    const refused = await verify(ASYNC, { key, phone: wrong })
    expect([refused.status, refused.body.code]).toEqual([429, 'too_many_attempts'])
  })

  it('holds the quota of people', async () => {
    const { verify, ended, createKey } = await openVendorServer()
    const key = await createKey({ mode: 'live', subjectsPerDay: 1 })
    const first = toReference(await verify(ASYNC, { key, phone }))
    await ended(first, toKeyId(key))
    expect((await verify(ASYNC, { key, phone })).status).toBe(202)
    const other = { key, nin: '22345678901', phone: `0${toPhoneCoreOf('22345678901')}` }
    expect((await verify(ASYNC, other)).body.code).toBe('quota_exceeded')
  })
})
