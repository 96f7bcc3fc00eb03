import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DAY_MS } from '../../src/contract/time.ts'
import { createListVendor, type ListVendor, mapItems } from '../../src/simulator/price-list.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import { openTestConsole, type TestConsole } from '../admin/test-console.ts'
import { bearer, PHONE } from '../app.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

const NOW = Date.now()
const DAYS = { minute: '2026', hour: '2026', day: '2026' }
/** Failures of the work in the background. */
const LOG = join(mkdtempSync(join(tmpdir(), 'tabbat-test-')), 'log')
const NIN = { nin: '12345678901', phone: PHONE }

/** The API and the console as `serve` opens them: a write that is not sent to the writer thread fails. */
describe('the main connection of a server on SQLite', () => {
  let lists: ListVendor
  let vendor: StandIn
  let receiver: Receiver
  let server: TestConsole
  let operator: string
  let changesBefore: number
  beforeAll(async () => {
    lists = createListVendor()
    vendor = await openStandIn(createVtpass(lists))
    receiver = await startReceiver()
    server = await openTestConsole({
      ...vendor.settings,
      TABBAT_WEBHOOKS_PRIVATE: 'on',
      TABBAT_BATCH_RATE: '100000',
      TABBAT_LOG_LEVEL: 'error',
      TABBAT_LOG_FILE: LOG,
    })
    await server.context.store.refuseWrites()
    changesBefore = await countChanges()
    operator = await server.openSession('operator')
  })
  afterAll(async () => {
    await server.close()
    await receiver.close()
    await vendor.close()
    expect(readFileSync(LOG, 'utf8')).toBe('')
  })

  const countChanges = async () =>
    Number((await server.context.store.database.prepare('SELECT total_changes() AS changes').get())?.changes)
  const send = (url: string, payload: object | string, headers: Record<string, string> = {}) =>
    server.app.inject({ method: 'POST', url, headers: { ...bearer(), ...headers }, payload })
  const post = async (path: string, body: object) =>
    (await server.request(path, { cookie: operator, body })).json()

  it('refuses a statement and a transaction that would write', async () => {
    const { database } = server.context.store
    await expect(database.prepare('DELETE FROM meta').run()).rejects.toThrow(/readonly/)
    await expect(database.transaction(async () => {})).rejects.toThrow(/readonly/)
  })

  it('changes no row when a person is verified, also with an Idempotency-Key', async () => {
    const url = '/api/v2/kyc/verify-nin'
    for (const headers of [{}, { 'idempotency-key': 'one' }, { 'idempotency-key': 'one' }])
      expect((await send(url, NIN, headers)).statusCode).toBe(200)
    expect(await countChanges()).toBe(changesBefore)
  })

  it('changes no row when a batch is answered and an endpoint is told', async () => {
    await post('/admin/webhooks', { name: 'shop', url: receiver.url, events: ['batch.completed'], keys: [] })
    const row = JSON.stringify({ operation: 'verify_nin', ...NIN })
    const url = '/api/v2/kyc/batches'
    const accepted = await send(url, row, { 'content-type': 'application/x-ndjson' })
    expect(accepted.statusCode).toBe(202)
    await receiver.wait(1)
    expect(receiver.received[0]?.body).toContain('batch.completed')
    expect(await countChanges()).toBe(changesBefore)
  })

  it('changes no row when lists are fetched, reviewed and accepted', async () => {
    const { catalogue, reviews } = server.context.store
    lists.files = mapItems(lists.files, (item) => ({ ...item, price: String(Number(item.price) * 1000) }))
    const sync = { source: 'vtpass', dry_run: false, force: false }
    expect((await post('/admin/catalogue/sync', sync)).message).toContain('wait for review')
    const [review] = await reviews.list()
    await post('/admin/catalogue/review', { id: review?.id, decision: 'accept' })
    expect([await reviews.list(), await catalogue.newestId()]).toEqual([[], 2])
    expect(await countChanges()).toBe(changesBefore)
  })

  it('changes no row when it is cleaned up', async () => {
    const { store } = server.context
    for (const cleanUp of [
      () => store.catalogue.deleteExpired({ newest: 0, author: 'schedule', at: NOW }),
      () => store.reviews.deleteExpired(NOW),
      () => store.guesses.deleteExpired(NOW, 1),
      () => store.idempotency.deleteExpired(NOW),
      () => store.sources.deleteExpired({ states: NOW, spendDay: 1, refundDay: 1, month: '2026-01' }),
      () => store.sourceCalls.deleteExpired(DAYS),
      () => store.statistics.deleteExpired(DAYS),
      () => store.reuse.deleteExpired(NOW),
      () => store.rates.deleteExpired(NOW),
      () => store.nodes.deleteExpired(NOW),
      () => store.throttle.deleteExpired(NOW),
      () => store.passkeys.deleteExpired(NOW),
      () => store.accounts.deleteExpired({ openedAfter: NOW, seenAfter: NOW, now: NOW }),
      async () =>
        store.deliveries.deleteExpired(await store.deliveries.findExpired({ ageMs: DAY_MS, most: 1 }, NOW)),
      () => store.queue.deleteExpired(DAY_MS, NOW),
      () => store.batches.deleteExpired(DAY_MS, NOW),
      () => store.requests.deleteExpired(NOW, 0),
      () => store.audit.prepareMonths(NOW),
    ])
      await cleanUp()
    expect(await countChanges()).toBe(changesBefore)
  })
})
