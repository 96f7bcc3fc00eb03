import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AuditEntry } from '../../src/audit/row.ts'
import type { Store } from '../../src/context/store.ts'
import { createEvent, type EventType } from '../../src/contract/event.ts'
import { MINUTE_MS } from '../../src/contract/time.ts'
import { createEndpoint } from '../../src/webhooks/manage.ts'
import {
  createEndpointMetrics,
  openWebhooks,
  toWebhookMetrics,
  type Webhooks,
} from '../../src/webhooks/webhooks.ts'
import { SQLITE } from '../engines.ts'
import { answerWith, type Receiver, startReceiver } from './receiver.ts'
import { addEndpoint, append, KEY, toDeps } from './setup.ts'

type Logged = [level: string, event: string, fields: Record<string, unknown> | undefined]

let store: Store
let receiver: Receiver
let webhooks: Webhooks
let logged: Logged[]
let audited: AuditEntry[]
beforeEach(async () => {
  store = await (await SQLITE.createPlace()).open()
  receiver = await startReceiver()
  logged = []
  audited = []
})
afterEach(async () => {
  vi.restoreAllMocks()
  await webhooks.close()
  await receiver.close()
  await store.close()
})

const open = (webhooksPrivate: 'on' | 'off' = 'on', guards: readonly unknown[] = []) => {
  webhooks = openWebhooks({
    store,
    keyring: { 'webhook-secret': KEY },
    config: { webhooksPrivate, webhooksLog: 1000, spendAlert: 'off' },
    node: 'node-1',
    sourceChain: { prices: {}, guards },
    log: {
      event: (level, event, fields) => void logged.push([level, event, fields as Logged[2]]),
      failure: (error) => void logged.push(['error', String(error), undefined]),
    },
    audit: { record: async (entries) => void audited.push(...entries) },
  })
  return webhooks
}
const toEvent = (type: EventType, data = {}) =>
  createEvent({ type, at: Date.now(), keyId: '', reference: 'r', data: { reference: 'r', ...data } })

describe('an event', () => {
  it('is delivered without delay after its commit, counted, and in the log without what is null', async () => {
    await addEndpoint(store, receiver.url)
    open()
    const event = await append(store, { data: { reference: 'ver_1', status: null, sum: 5 } })
    webhooks.announce(event)
    await receiver.wait(1)
    await expect.poll(() => webhooks.counts).toEqual({ delivered: 1, failed: 0 })
    expect(logged).toEqual([
      ['info', 'verification.completed', { event_id: event.id, reference: 'ver_1', sum: '5' }],
    ])
  })

  it.each<[EventType, string]>([
    ['verification.expired', 'info'],
    ['batch.completed', 'info'],
    ['source.down', 'warn'],
    ['source.up', 'info'],
    ['spend.near_cap', 'warn'],
    ['audit.unavailable', 'warn'],
    ['catalogue.changed', 'info'],
  ])('%s is in the log as %s', (type, level) => {
    open().announce(toEvent(type))
    expect(logged.map(([given, event]) => [given, event])).toEqual([[level, type]])
  })

  it('that a command has caused is in the log once', async () => {
    await store.events.append([toEvent('batch.completed'), toEvent('verification.completed')])
    open()
    await expect.poll(() => logged).toHaveLength(1)
    expect(logged[0]?.slice(0, 2)).toEqual(['info', 'batch.completed'])
    expect(await store.events.listUnlogged()).toEqual([])
  })

  it('to a private address is not delivered where that is not allowed', async () => {
    await addEndpoint(store, receiver.url)
    open('off')
    webhooks.announce(await append(store))
    await expect.poll(() => webhooks.counts).toEqual({ delivered: 0, failed: 1 })
    expect(receiver.received).toEqual([])
  })
})

it('an endpoint that wants nothing more is in the log and in the audit log', async () => {
  const { row } = await addEndpoint(store, receiver.url)
  open()
  receiver.answer = answerWith(410)
  await append(store)
  webhooks.wake()
  await expect.poll(() => audited).toHaveLength(1)
  expect(audited).toEqual([{ phase: 'webhook_disabled', outcome: 'ok', detail: `endpoint ${row.id} gone` }])
  expect(logged).toEqual([['warn', 'webhook_disabled', { endpoint: row.id, reason: 'gone' }]])
})

it('an event that is given up is in the log', async () => {
  const { row } = await addEndpoint(store, receiver.url)
  const event = await append(store)
  await store.database.prepare('UPDATE webhook_deliveries SET tries = 9').run()
  open()
  receiver.answer = answerWith(500)
  webhooks.wake()
  await expect.poll(() => logged).toHaveLength(1)
  expect(logged).toEqual([
    ['warn', 'webhook_given_up', { endpoint: row.id, event_id: event.id, type: 'verification.completed' }],
  ])
})

it('a source that goes down is told where there are sources, and an end waits for what is being told', async () => {
  const at = Date.now() + MINUTE_MS
  const state = JSON.stringify({ state: 'open', warnings: [], down: true })
  await store.sources.publish([{ node: 'other', name: 'dojah', operation: 'verify_nin', state, at }])
  open()
  await webhooks.close()
  expect(logged).toEqual([])
  open('on', ['a guard'])
  await webhooks.close()
  expect(logged.map(([, event]) => event)).toEqual(['source.down'])
})

it('a failure of the audit log is told again after ten minutes, and not before', async () => {
  open()
  // A sum of fractions would be less than ten minutes, now and then.
  let now = Math.ceil(performance.now())
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  webhooks.reportAuditFailure()
  now += 10 * MINUTE_MS - 1
  webhooks.reportAuditFailure()
  expect(logged).toEqual([
    [
      'warn',
      'audit.unavailable',
      { event_id: expect.any(String), reference: 'audit:node-1', status: 'unavailable', node: 'node-1' },
    ],
  ])
  now += 1
  webhooks.reportAuditFailure()
  expect(logged).toHaveLength(2)
})

it('deliveries are deleted after their time', async () => {
  await addEndpoint(store, receiver.url)
  open()
  await append(store)
  await store.database.prepare("UPDATE webhook_deliveries SET state = 'delivered', finished_at = 1").run()
  expect(await webhooks.deleteExpired()).toBe(1)
})

it('metrics count attempts and endpoints', async () => {
  open()
  const samples = (metrics: ReturnType<typeof toWebhookMetrics>) =>
    metrics.map(({ name, samples }) => [name, samples.map(({ labels, value }) => [labels, value])])
  expect(samples(toWebhookMetrics({ counts: { delivered: 3, failed: 2 } }))).toEqual([
    [
      'tabbat_webhook_attempts_total',
      [
        ['result="delivered"', 3],
        ['result="failed"', 2],
      ],
    ],
  ])
  const request = { name: 'x', url: receiver.url, events: ['source.down'], keys: [] }
  const [, failing, disabled] = [
    await createEndpoint(toDeps(store), request),
    await createEndpoint(toDeps(store), request),
    await createEndpoint(toDeps(store), request),
  ]
  await store.database
    .prepare('UPDATE webhook_endpoints SET failing_since = 1 WHERE id = $1')
    .run(failing.row.id)
  await store.webhooks.disable(disabled.row.id, 1)
  expect(samples(await createEndpointMetrics(store.webhooks)())).toEqual([
    [
      'tabbat_webhook_endpoints',
      [
        ['state="active"', 1],
        ['state="failing"', 1],
        ['state="disabled"', 1],
      ],
    ],
  ])
})
