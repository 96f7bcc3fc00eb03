import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEvent } from '../../src/contract/event.ts'
import { answerWith, type Received, type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

let at: TestConsole
let receiver: Receiver
const cookies: Record<string, string> = {}
beforeAll(async () => {
  at = await openTestConsole({ TABBAT_WEBHOOKS_PRIVATE: 'on' })
  receiver = await startReceiver()
  for (const role of ['viewer', 'operator'] as const) cookies[role] = await at.openSession(role)
})
afterAll(async () => {
  await receiver.close()
  await at.close()
})

type Row = Record<string, unknown> & { id: string }
type Created = { secret: string; row: Row }

const post = (path: string, body: object = {}, role = 'operator') =>
  at.request(path, { cookie: cookies[role], body })
const get = async (path: string) => (await at.request(path, { cookie: cookies.viewer })).json()
const create = async (options: object = {}) =>
  (
    await post('/admin/webhooks', { name: 'shop', url: receiver.url, events: ['source.down'], ...options })
  ).json() as Created
const lastRow = async (phase: string) => {
  const chains = await at.context.store.audit.chains()
  const rows = await Promise.all(chains.map(({ chain }) => at.context.store.audit.pageBack(chain, 1e9, 100)))
  return rows.flat().find((row) => row.phase === phase)
}

describe('an endpoint', () => {
  it('is created with a secret that is shown once, and the audit names the account', async () => {
    const { secret, row } = await create()
    expect(row).toMatchObject({
      name: 'shop',
      state: 'active',
      events: ['source.down'],
      keys: [],
      pending: 0,
    })
    const list = await get('/admin/webhooks')
    expect((list.endpoints as Row[]).map(({ id }) => id)).toContain(row.id)
    expect(JSON.stringify(list)).not.toContain(secret.slice(6))
    expect(await lastRow('webhook_created')).toMatchObject({
      detail: expect.stringMatching(
        `^endpoint ${row.id} granted {"name":"shop","origin":"http.*}; by operator$`,
      ),
    })
  })

  it('is tested, and the signature is right', async () => {
    const { secret, row } = await create()
    const result = (await post(`/admin/webhooks/${row.id}/test`)).json()
    expect(result).toMatchObject({ ok: true, status: 200, problem: null })
    const { body, headers } = receiver.received.at(-1) as Received
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
      ...{ type: 'webhook.test', data: { reference: row.id, status: 'test' } },
    })
  })

  it.each([
    [{ url: 'ftp://shop.example' }, 'Give an address such as'],
    [{ events: ['source.down'], keys: ['none'] }, 'does not exist'],
    [{ name: 'Ada 0803 123 4567' }, 'ten digits'],
  ])('is refused: %j', async (options, message) => {
    const answer = await post('/admin/webhooks', {
      name: 'x',
      url: receiver.url,
      events: ['source.up'],
      ...options,
    })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.text).toContain(message)
  })

  it('of a key gets events of keys only', async () => {
    const key = (await at.createKey()).split('_')[2]?.slice(0, 8) ?? ''
    const refused = await post('/admin/webhooks', {
      ...{ name: 'x', url: receiver.url, events: ['source.down'], keys: [key] },
    })
    expect(refused.text).toContain('Others go to endpoints without keys')
    const { row } = await create({ events: ['verification.completed'], keys: [key] })
    expect(row.keys).toEqual([key])
  })

  it('is rolled, disabled, enabled and deleted', async () => {
    const { secret, row } = await create()
    const rolled = (await post(`/admin/webhooks/${row.id}/roll`, { overlap: '1h' })).json() as Created
    expect(rolled.secret).not.toBe(secret)
    expect(rolled.row.old_secret_until).toEqual(expect.any(String))
    for (const [change, phase] of [
      ['disable', 'webhook_disabled'],
      ['enable', 'webhook_enabled'],
      ['delete', 'webhook_deleted'],
    ] as const) {
      expect((await post(`/admin/webhooks/${row.id}/${change}`)).status).toBe(200)
      expect(await lastRow(phase)).toMatchObject({
        detail: expect.stringMatching(`^endpoint ${row.id}( granted {.*})?; by operator$`),
      })
    }
    expect((await post(`/admin/webhooks/${row.id}/test`)).text).toContain('There is no endpoint')
  })
})

it('an endpoint above the most is refused, and the log says so', async () => {
  const own = await openTestConsole({ TABBAT_WEBHOOKS_PRIVATE: 'on' })
  const cookie = await own.openSession('operator')
  const { store } = own.context
  const body = { name: 'shop', url: receiver.url, events: ['source.down'] }
  const ask = () => own.request('/admin/webhooks', { cookie, body })
  for (let count = 0; count < 250; count++) expect((await ask()).status).toBe(200)
  const refused = await ask()
  expect([refused.status, refused.json().message]).toEqual([409, expect.stringContaining('Delete one first')])
  const rows = await store.database
    .prepare("SELECT outcome FROM audit WHERE phase = 'webhook_created' ORDER BY sequence")
    .all()
  expect(rows.slice(-3).map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'refused'])
  await own.close()
})

describe('deliveries', () => {
  it('are listed with every attempt, and sent again', async () => {
    const { row } = await create({ events: ['spend.near_cap'] })
    receiver.answer = answerWith(500)
    const before = receiver.received.length
    const data = { reference: 'spend:dojah', status: 'near_cap' }
    const event = createEvent({
      type: 'spend.near_cap',
      at: Date.now(),
      keyId: '',
      reference: 'spend:dojah',
      data,
    })
    await at.context.store.events.append([event])
    at.context.webhooks.announce(event)
    await receiver.wait(before + 1)
    const path = `/admin/webhooks/${row.id}/deliveries`
    const read = async () => (await get(path)) as { deliveries: Row[]; next: string | null }
    await expect.poll(async () => (await read()).deliveries[0]?.attempts).toHaveLength(1)
    expect(await read()).toMatchObject({
      deliveries: [
        { event_id: event.id, type: 'spend.near_cap', state: 'pending', attempts: [{ status: 500 }] },
      ],
      next: null,
    })
    receiver.answer = answerWith(204)
    expect((await post(`${path}/${event.id}/resend`)).status).toBe(200)
    await receiver.wait(before + 2)
    await expect.poll(async () => (await read()).deliveries[0]?.state).toBe('delivered')
    expect((await post(`${path}/evt_unknown/resend`)).text).toContain('has no such event')
    const report = (await get(`/admin/webhooks/${row.id}`)) as {
      hours: { delivered: number; failed: number }[]
    }
    expect(report).toMatchObject({ endpoint: { id: row.id, pending: 0 } })
    expect(report.hours).toHaveLength(48)
    const sum = (of: 'delivered' | 'failed') => report.hours.reduce((all, hour) => all + hour[of], 0)
    expect([sum('delivered'), sum('failed')]).toEqual([1, 1])
    expect(JSON.parse(String((await read()).deliveries[0]?.body))).toMatchObject({
      type: 'spend.near_cap',
      data,
    })
  })

  it('that were given up are all sent again', async () => {
    const { row } = await create({ events: ['spend.near_cap'] })
    receiver.answer = answerWith(204)
    const events = [1, 2, 3].map((each) => {
      const reference = `spend:vendor${each}`
      return createEvent({
        type: 'spend.near_cap',
        at: Date.now(),
        keyId: '',
        reference,
        data: { reference },
      })
    })
    const { store } = at.context
    await store.events.append(events)
    await store.database
      .prepare("UPDATE webhook_deliveries SET state = 'failed', finished_at = $2 WHERE endpoint_id = $1")
      .run(row.id, Date.now())
    const before = receiver.received.length
    const path = `/admin/webhooks/${row.id}`
    const csv = await at.request(`${path}/deliveries.csv`, { cookie: cookies.viewer })
    expect(csv.headers['content-type']).toBe('text/csv')
    expect(
      csv.text
        .split('\r\n')
        .slice(1, 4)
        .map((line) => line.split(',')[3]),
    ).toEqual(['failed', 'failed', 'failed'])
    const since = new Date(Date.now() + 60_000).toISOString()
    expect((await post(`${path}/resend-failed`, { since })).json()).toEqual({ resent: 0, is_cut: false })
    expect(await lastRow('webhook_resent')).toMatchObject({
      detail: `endpoint ${row.id} all that failed since ${since}; by operator`,
    })
    expect((await post(`${path}/resend-failed`, { since: '14:00' })).status).toBe(422)
    expect((await post(`${path}/resend-failed`, {}, 'viewer')).status).toBe(403)
    expect((await post(`${path}/resend-failed`)).json()).toEqual({ resent: 3, is_cut: false })
    await receiver.wait(before + 3)
    expect(await lastRow('webhook_resent')).toMatchObject({
      detail: `endpoint ${row.id} all that failed; by operator`,
    })
    await expect
      .poll(async () => ((await get(`${path}/deliveries`)).deliveries as Row[]).map(({ state }) => state))
      .toEqual(['delivered', 'delivered', 'delivered'])
    expect((await post(`${path}/resend-failed`)).json()).toEqual({ resent: 0, is_cut: false })
  })
})
