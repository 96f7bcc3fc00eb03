import { afterEach, describe, expect, it } from 'vitest'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { prembly } from '../../src/simulator/prembly.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { youverify } from '../../src/simulator/youverify.ts'
import { createQueueWorker } from '../../src/verification/queue/worker.ts'
import { bearer, openTestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

/** A BVN, its phone, and another phone. */
const BVN = '22345678901'
const PHONE = `0${toPhoneCoreOf(BVN)}`
const OTHER_PHONE = '08021112223'
const NO_RECORD = { status: 200, body: { status: false, response_code: '01', detail: 'Record not found' } }

const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

/** Two vendors, and a server whose worker makes the attempts that the test asks for. */
async function openServer(engine: string, settings: Readonly<Record<string, string>> = {}) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const [first, second] = [await openStandIn(prembly), await openStandIn(youverify)]
  const server = await openTestApp(
    {
      ...{ ...database, ...first.settings, ...second.settings },
      TABBAT_BVN_SOURCES: 'prembly,youverify',
      TABBAT_NOT_FOUND: 'next',
      ...settings,
    },
    { isStopping: true },
  )
  opened.push(first, second, server)
  const { app, context } = server
  const key = await server.createKey({ mode: 'live', asyncWhenDown: true })
  const failures: unknown[] = []
  const onFailure = (error: unknown) => failures.push(error)
  const worker = createQueueWorker(context, { owner: context.audit.owner, onFailure, monotonicNow: () => 0 })
  const verify = (phone: string, headers = {}) =>
    app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-bvn',
      headers: { ...bearer(key), ...headers },
      payload: { bvn: BVN, phone, amount: '100' },
    })
  return {
    ...{ first, second, failures },
    verify,
    ask: async (phone: string) => {
      const answer = await verify(phone, { prefer: 'respond-async' })
      expect(answer.statusCode).toBe(202)
      return String(answer.json().data.request_reference)
    },
    /** One attempt at all that is pending. */
    attempt: async () => {
      await context.store.database
        .prepare("UPDATE queued_verifications SET due_at = 0 WHERE state = 'pending'")
        .run()
      await worker.beginDue()
      await worker.idle()
    },
    /** The attempts that are counted, and the seconds until the next one. */
    readNext: async () => {
      const row = await context.store.database
        .prepare("SELECT due_at, attempts FROM queued_verifications WHERE state = 'pending'")
        .get()
      return { attempts: Number(row?.attempts), seconds: (Number(row?.due_at) - Date.now()) / 1000 }
    },
    read: async (reference: string) => {
      const answer = await app.inject({ url: `/api/v2/kyc/verifications/${reference}`, headers: bearer(key) })
      const { code, data } = answer.json()
      return { status: answer.statusCode, code, data }
    },
  }
}

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

/** Asks, and makes an attempt in which the first vendor calls the number blocked. Then it is down, and the second works. */
async function askOfBlocked({ first, second, ask, attempt }: Awaited<ReturnType<typeof openServer>>) {
  first.fail('watchlisted')
  second.fail('no_funds')
  const reference = await ask(PHONE)
  await attempt()
  first.fail('no_funds')
  second.fail(undefined)
  return reference
}

describe.each(engines)('the attempts at a pending verification, on %s', (engine) => {
  it('pay a vendor that has no such person once, and ask the next one when it is back', async () => {
    const { first, second, ask, attempt, read, failures } = await openServer(engine)
    first.answerWith(NO_RECORD)
    second.fail('no_funds')
    const reference = await ask(PHONE)
    await attempt()
    await attempt()
    expect(await read(reference)).toMatchObject({ status: 202 })
    second.fail(undefined)
    await attempt()
    expect(await read(reference)).toMatchObject({ status: 200, data: { bvn_number: BVN } })
    expect(first.count()).toBe(1)
    expect(failures).toEqual([])
  })

  it('pay a vendor that has the person with another phone once, and end as not verified', async () => {
    const { first, second, ask, attempt, read } = await openServer(engine)
    second.fail('no_funds')
    const reference = await ask(OTHER_PHONE)
    await attempt()
    expect(await read(reference)).toMatchObject({ status: 202 })
    second.fail(undefined)
    await attempt()
    expect(await read(reference)).toMatchObject({ status: 422, code: 'not_verified' })
    expect([first.count(), second.count()]).toEqual([1, 2])
  })

  it('keep that a vendor called the number blocked, although it is down when the record is found', async () => {
    const server = await openServer(engine)
    const { attempt, read } = server
    const reference = await askOfBlocked(server)
    await attempt()
    expect(await read(reference)).toMatchObject({
      status: 200,
      data: { bvn_number: BVN, watchlisted: 'YES' },
    })
  })

  it('keep it also if the record is one that was kept for reuse', async () => {
    const server = await openServer(engine, { TABBAT_REUSE: '24h' })
    const { second, verify, attempt, read } = server
    const reference = await askOfBlocked(server)
    expect((await verify(PHONE)).json().data).toMatchObject({ bvn_number: BVN, watchlisted: null })
    await attempt()
    expect(await read(reference)).toMatchObject({ status: 200, data: { watchlisted: 'YES' } })
    expect(second.count()).toBe(2)
  })

  it.each(['watchlisted', 'phone_null', 'phone_masked', 'phone_missing', 'phone_hidden'] as const)(
    'pay a vendor once that answers with nothing that can be released: %s',
    async (fault) => {
      const { first, second, ask, attempt, read } = await openServer(engine)
      first.fail(fault)
      second.fail('no_funds')
      const reference = await ask(PHONE)
      await attempt()
      await attempt()
      second.fail(undefined)
      await attempt()
      expect(await read(reference)).toMatchObject({ status: 200, data: { bvn_number: BVN } })
      expect(first.count()).toBe(1)
    },
  )

  it('ask the only vendor again whose record could not be released, also beside own records', async () => {
    const { first, ask, attempt, read } = await openServer(engine, {
      TABBAT_BVN_SOURCES: 'registry,prembly',
    })
    first.fail('phone_masked')
    const reference = await ask(PHONE)
    await attempt()
    expect(await read(reference)).toMatchObject({ status: 202 })
    first.fail(undefined)
    await attempt()
    expect(await read(reference)).toMatchObject({ status: 200, data: { bvn_number: BVN } })
  })

  it('wait longer and longer if those that may be called have answered already', async () => {
    const { first, verify, ask, attempt, readNext } = await openServer(engine, {
      ...{ TABBAT_YOUVERIFY_PRICE: '50', TABBAT_YOUVERIFY_DAILY_CAP: '50' },
    })
    first.answerWith(NO_RECORD)
    // Another verification uses up the cap of the second vendor.
    await verify(OTHER_PHONE)
    await ask(PHONE)
    for (let count = 1; count <= 8; count++) await attempt()
    const { attempts, seconds } = await readNext()
    expect(attempts).toBe(8)
    expect(seconds).toBeGreaterThan(600)
    // Once by each of the two verifications.
    expect(first.count()).toBe(2)
  })

  it('go on from what the request of the caller has found out', async () => {
    const { first, second, verify, attempt, read } = await openServer(engine)
    first.fail('watchlisted')
    second.fail('no_funds')
    const asked = await verify(PHONE)
    expect(asked.statusCode).toBe(202)
    first.fail('no_funds')
    second.fail(undefined)
    await attempt()
    expect(await read(String(asked.json().data.request_reference))).toMatchObject({
      status: 200,
      data: { bvn_number: BVN, watchlisted: 'YES' },
    })
  })
})
