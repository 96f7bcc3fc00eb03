import { afterEach, describe, expect, it } from 'vitest'
import { createQueueWorker } from '../../src/verification/queue/worker.ts'
import { bearer, openTestApp, PHONE } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

/** A server whose worker is replaced by one whose rounds the test begins. */
async function openServer(engine: string) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp(database, { isStopping: true })
  opened.push(server)
  const { context, app } = server
  const failures: unknown[] = []
  const createWorker = (owner = context.audit.owner) =>
    createQueueWorker(context, { owner, onFailure: (error) => failures.push(error), monotonicNow: () => 0 })
  const ask = async (nin: string, headers: Record<string, string> = {}) => {
    const answer = await app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(), prefer: 'respond-async', ...headers },
      payload: { nin, phone: PHONE },
    })
    expect(answer.json()).toHaveProperty('data.request_reference')
    return { status: answer.statusCode, reference: String(answer.json().data.request_reference) }
  }
  const read = (reference: string) =>
    app.inject({ url: `/api/v2/kyc/verifications/${reference}`, headers: bearer() })
  const change = (sql: string, ...values: (string | number | Uint8Array)[]) =>
    context.store.database.prepare(`UPDATE queued_verifications SET ${sql}`).run(...values)
  return { ...server, createWorker, ask, read, change, failures }
}

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('a pending verification on %s', (engine) => {
  it('whose question cannot be opened ends, is audited, and frees its Idempotency-Key', async () => {
    const { context, createWorker, ask, read, change, failures } = await openServer(engine)
    const key = { 'idempotency-key': 'order-1' }
    const { reference } = await ask('12345678901', key)
    await change('question = $1', Buffer.alloc(80, 7))
    const worker = createWorker()
    await worker.beginDue()
    await worker.idle()
    const answer = await read(reference)
    expect([answer.statusCode, answer.json().code]).toEqual([500, 'internal_error'])
    const rows = await context.store.audit.byReference(reference)
    expect(rows.map(({ phase, outcome, detail }) => [phase, outcome, detail])).toEqual([
      ['queued', null, null],
      ['outcome', 'internal_error', 'the question cannot be opened'],
      ['replay', 'internal_error', null],
    ])
    expect(failures).toHaveLength(1)
    expect(await context.store.queue.countPending()).toEqual([])
    const again = await ask('12345678901', key)
    expect(again.reference).not.toBe(reference)
    await worker.beginDue()
    await worker.idle()
    expect((await read(again.reference)).statusCode).toBe(200)
  })

  it('that has expired ends at once, however many there are, and others are not delayed', async () => {
    const { context, createWorker, ask, read, change, failures } = await openServer(engine)
    const numbers = Array.from({ length: 450 }, (_each, index) => String(10_000_000_000 + index))
    // Some at a time, which share commits.
    for (let first = 0; first < 450; first += 50)
      await Promise.all(numbers.slice(first, first + 50).map((nin) => ask(nin)))
    await change('expires_at = 1, due_at = due_at + 1000000')
    const { reference } = await ask('12345678901')
    const worker = createWorker()
    // The clock stands still: no second passes between the rounds.
    for (let round = 0; round < 4; round++) {
      await worker.beginDue()
      await worker.idle()
    }
    expect((await read(reference)).statusCode).toBe(200)
    expect(await context.store.queue.countPending()).toEqual([])
    expect(context.queue.signals.ended).toMatchObject({ expired: 450, verified: 1 })
    expect(failures).toEqual([])
  })

  it('of the sandbox outlives the process that worked on it', async () => {
    const { context, createWorker, ask, read, change } = await openServer(engine)
    const { reference } = await ask('12345678901')
    const claimed = await context.store.queue.claim(
      {
        lane: 'single',
        mode: 'test',
        operation: 'verify_nin',
        lease: 'dead:1',
        leaseMs: 10_000,
        keys: ['sandbox0'],
        each: 1,
      },
      Date.now(),
    )
    expect(claimed.map((each) => each.reference)).toEqual([reference])
    // Time passes until the lease of the process that died is over, and some more.
    await change('due_at = due_at - 12000, expires_at = expires_at - 12000')
    const worker = createWorker('other')
    await worker.beginDue()
    await worker.idle()
    expect((await read(reference)).statusCode).toBe(200)
  })

  it('is counted in the metrics', async () => {
    const { context, createWorker, ask, change, createKey } = await openServer(engine)
    await ask('12345678901')
    const worker = createWorker()
    await worker.beginDue()
    await worker.idle()
    const key = await createKey()
    await ask('22345678901', bearer(key))
    await change(
      `mode = 'live', due_at = due_at - 60000, accepted_at = accepted_at - 90000 WHERE state = 'pending'`,
    )
    const scrape = await context.metrics.print()
    const figure = (name: string) => Number(scrape.split(`\n${name} `)[1]?.split('\n')[0])
    expect(figure('tabbat_queue_pending{lane="single"}')).toBe(1)
    expect(figure('tabbat_queue_pending{lane="batch"}')).toBe(0)
    expect(figure('tabbat_queue_oldest_seconds')).toBeGreaterThanOrEqual(90)
    expect(figure('tabbat_queue_late_seconds')).toBeGreaterThanOrEqual(60)
    expect(figure('tabbat_queue_ended_total{outcome="verified"}')).toBe(1)
    // Alerts and the dashboard need a value from the start.
    expect(figure('tabbat_queue_ended_total{outcome="expired"}')).toBe(0)
  })
})

it('the sandbox number of a time-out takes as long as a real one, if the caller asks for it', async () => {
  const { app } = await openServer('SQLite')
  const startedAt = performance.now()
  const ask = (headers: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(), ...headers },
      payload: { nin: '00000000504', phone: PHONE },
    })
  // At the same time: each takes 15 seconds.
  await Promise.all(
    [{ prefer: 'wait=20' }, { 'x-sandbox-delay': 'real' }].map(async (headers) => {
      const answer = await ask(headers as Record<string, string>)
      expect([answer.statusCode, answer.json().code]).toEqual([504, 'source_timeout'])
      // No upper bound: the machine may be slow.
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(14_400)
    }),
  )
})
