import { afterEach, describe, expect, it } from 'vitest'
import { DAY_MS } from '../../src/contract/time.ts'
import { changeKey } from '../../src/keys/manage.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { bearer, openTestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NIN = '12345678901'
const PHONE = `0${toPhoneCoreOf(NIN)}`
const toLineage = (key: string) => key.slice(9, 17)
const toWrongPhone = (order: number) => `0809999999${order}`
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

/** A server with one vendor, and a key that asks it later: once `stopping` is false. */
async function openServer(engine: string, settings: Record<string, string> = {}, isStopping = false) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const vendor = await openStandIn(dojah)
  opened.push(vendor)
  const server = await openTestApp(
    { ...database, TABBAT_NIN_SOURCES: 'dojah', ...vendor.settings, ...settings },
    { isStopping },
  )
  opened.push(server)
  const { queue, store } = server.context
  const key = await server.createKey({ mode: 'live' })
  const ask = async (idempotencyKey: string, phone = PHONE, details = {}) => {
    const answer = await server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(key), prefer: 'respond-async', 'idempotency-key': idempotencyKey },
      payload: { nin: NIN, phone, ...details },
    })
    return { status: answer.statusCode, reference: String(answer.json().data?.request_reference) }
  }
  const call = (method: 'GET' | 'DELETE', reference: string) =>
    server.app.inject({ method, url: `/api/v2/kyc/verifications/${reference}`, headers: bearer(key) })
  /** Until the attempt under way has failed or answered. */
  const attempted = (reference: string) =>
    expect
      .poll(async () => (await store.audit.byReference(reference)).map(({ phase }) => phase))
      .toContainEqual(expect.stringMatching(/^(attempt|outcome)$/))
  const ended = (reference: string) =>
    expect
      .poll(async () => (await store.queue.find(reference, toLineage(key), Date.now()))?.state ?? 'pending')
      .not.toBe('pending')
  /** As if time had passed, and the cleanup had run. */
  const age = async (ms: number) => {
    for (const sql of [
      'UPDATE queued_verifications SET due_at = due_at - $1, expires_at = expires_at - $1',
      'UPDATE idempotency SET expires_at = expires_at - $1',
    ])
      await store.database.prepare(sql).run(ms)
    await store.queue.deleteExpired(queue.settings.keepMs, Date.now())
    await store.idempotency.deleteExpired(Date.now())
  }
  return { ...server, vendor, key, ask, call, attempted, ended, age }
}

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

it.each(engines)(
  'a pending verification is cancelled when its key loses the scope, on %s',
  async (engine) => {
    const { context, vendor, key, ask, attempted } = await openServer(engine, {}, true)
    const { reference } = await ask('order-1')
    const deps = { ...context, keyring: context.keyring() }
    await changeKey(deps, key.slice(9, 17), { scopes: ['catalogue:read'] })
    context.lifecycle.stopping = false
    await attempted(reference)
    const rows = await context.store.audit.byReference(reference)
    expect(rows.map(({ phase, outcome, detail }) => [phase, outcome, detail])).toEqual([
      ['queued', null, null],
      ['outcome', 'cancelled', 'the key has lost the scope'],
    ])
    expect(vendor.count()).toBe(0)
  },
)

describe.each(engines)('--require-match on %s', (engine) => {
  const require = (server: Awaited<ReturnType<typeof openServer>>, requireMatch: 'name' | undefined) => {
    const deps = { ...server.context, keyring: server.context.keyring() }
    return changeKey(deps, toLineage(server.key), { requireMatch })
  }

  it('added to a key does not end the questions that it has asked before', async () => {
    const server = await openServer(engine, {}, true)
    const { reference } = await server.ask('order-1')
    await require(server, 'name')
    server.context.lifecycle.stopping = false
    await server.ended(reference)
    expect((await server.call('GET', reference)).statusCode).toBe(200)
    expect(server.vendor.count()).toBe(1)
    // A changed key is known within a second.
    let asked = 1
    await expect.poll(async () => (await server.ask(`order-${++asked}`)).status).toBe(422)
  })

  it('removed from a key still holds for the questions that it has asked before', async () => {
    const server = await openServer(engine, {}, true)
    await require(server, 'name')
    const { reference } = await server.ask('order-1', PHONE, { first_name: 'Nobody', last_name: 'Nowhere' })
    await require(server, undefined)
    server.context.lifecycle.stopping = false
    await server.ended(reference)
    expect((await server.call('GET', reference)).json().code).toBe('not_verified')
  })
})

describe.each(engines)('the Idempotency-Key of a pending verification on %s', (engine) => {
  it('keeps its count of paid calls when the verification is cancelled', async () => {
    const { vendor, ask, call, attempted } = await openServer(engine)
    vendor.fail('malformed_json')
    const references = new Set<string>()
    for (let round = 0; round < 4; round++) {
      const { status, reference } = await ask('order-1')
      if (status !== 202) break
      references.add(reference)
      await attempted(reference)
      await call('DELETE', reference)
    }
    expect(references.size).toBeGreaterThanOrEqual(2)
    expect(vendor.count()).toBe(2)
  })

  it('leads to the answer for a day, also when the answer itself is kept for a minute', async () => {
    const { context, vendor, ask, call, attempted, age } = await openServer(engine, {
      TABBAT_PENDING_KEEP: '1m',
    })
    const { reference } = await ask('order-1')
    await attempted(reference)
    await age(DAY_MS - 60_000)
    expect((await call('GET', reference)).statusCode).toBe(410)
    expect(await ask('order-1')).toEqual({ status: 200, reference })
    expect(vendor.count()).toBe(1)
    await age(120_000)
    const again = await ask('order-1')
    expect([again.status, again.reference === reference]).toEqual([202, false])
    await attempted(again.reference)
    expect(context.queue.signals.ended).toMatchObject({ verified: 2, expired: 0 })
  })

  it('pays for no further call within a day after the verification has expired', async () => {
    const { vendor, ask, ended, age } = await openServer(engine, {
      TABBAT_PENDING_KEEP: '1m',
      TABBAT_PAID_CALLS: '1',
    })
    vendor.fail('malformed_json')
    const { reference } = await ask('order-1')
    await ended(reference)
    expect(vendor.count()).toBe(1)
    await age(DAY_MS - 60_000)
    expect(await ask('order-1')).toEqual({ status: 504, reference })
    expect(vendor.count()).toBe(1)
  })

  it('runs again after a limit was reached, when the limit is lifted', async () => {
    const { context, ask, call, attempted } = await openServer(engine, {}, true)
    // More guesses than the limit allows are accepted before one is counted.
    const asked = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((order) => ask(`order-${order}`, toWrongPhone(order))),
    )
    context.lifecycle.stopping = false
    for (const { reference } of asked) await attempted(reference)
    const codes = await Promise.all(
      asked.map(async ({ reference }) => (await call('GET', reference)).json().code),
    )
    expect(codes.toSorted()).toEqual([...Array(5).fill('not_verified'), 'too_many_attempts'])
    const refused = codes.indexOf('too_many_attempts') + 1
    await context.store.database.prepare('DELETE FROM attempts').run()
    const again = await ask(`order-${refused}`, toWrongPhone(refused))
    expect(again.reference).not.toBe(asked[refused - 1]?.reference)
    await attempted(again.reference)
    expect((await call('GET', again.reference)).json().code).toBe('not_verified')
  })
})
