import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../src/audit/row.ts'
import type { Store } from '../../src/context/store.ts'
import { EVENT_TYPES, KEY_EVENTS } from '../../src/contract/event.ts'
import { HOUR_MS, steadyNow } from '../../src/contract/time.ts'
import { UserError } from '../../src/errors.ts'
import type { KeyRow } from '../../src/keys/key-table.ts'
import { openSecret, toSignedHeaders } from '../../src/webhooks/attempt.ts'
import {
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  type EndpointDeps,
  enableEndpoint,
  findEndpoint,
  resendEvent,
  resendFailedEvents,
  rollEndpoint,
  testEndpoint,
} from '../../src/webhooks/manage.ts'
import { SQLITE } from '../engines.ts'
import { append, KEY, toDeps } from './setup.ts'

let store: Store
let audited: AuditEntry[]
let deps: EndpointDeps
beforeAll(async () => {
  store = await (await SQLITE.createPlace()).open()
})
afterAll(() => store.close())
beforeEach(() => {
  audited = []
  const keys = { ...store.keys, list: async () => KEYS as KeyRow[] }
  const record = async (entries: readonly AuditEntry[]) => void audited.push(...entries)
  deps = { ...toDeps(store, false), store: { ...store, keys }, audit: { record } }
})

const KEYS = [
  { id: 'aaaa', lineage: 'first' },
  { id: 'bbbb', lineage: 'first' },
  { id: 'cccc', lineage: 'third' },
]
const REQUEST = {
  name: ' Shop ',
  url: 'https://shop.example/hooks?token=hidden',
  events: ['batch.completed', 'verification.completed', 'batch.completed'],
  keys: ['aaaa', 'bbbb', 'cccc'],
}
const UNKNOWN = new UserError('There is no endpoint with this id. See: tabbat webhooks list')
const open = (row: { readonly id: string; readonly secret: Uint8Array }) =>
  openSecret(KEY, row.id, row.secret)
const failing = { ...{ audit: { record: () => Promise.reject(new Error('the audit log is full')) } } }

describe('a new endpoint', () => {
  it('is stored with its secret, and audited without the path of its address', async () => {
    const before = steadyNow()
    const { secret, row } = await createEndpoint(deps, REQUEST)
    expect(row).toMatchObject({
      id: expect.stringMatching(/^whk_[0-9a-f]{16}$/),
      name: 'Shop',
      url: REQUEST.url,
      events: ['batch.completed', 'verification.completed'],
      lineages: ['first', 'third'],
      disabledAt: undefined,
    })
    expect(row.createdAt).toBeGreaterThanOrEqual(before)
    expect(open(row)).toBe(secret)
    const granted = {
      ...{
        name: 'Shop',
        origin: 'https://shop.example',
        events: ['batch.completed', 'verification.completed'],
      },
      keys: ['first', 'third'],
    }
    expect(audited).toEqual([
      {
        phase: 'webhook_created',
        outcome: 'ok',
        detail: `endpoint ${row.id} granted ${JSON.stringify(granted)}`,
      },
    ])
  })

  it('is not created if that cannot be audited', async () => {
    const { length } = await store.webhooks.list()
    await expect(createEndpoint({ ...deps, ...failing }, REQUEST)).rejects.toThrow('the audit log is full')
    expect(await store.webhooks.list()).toHaveLength(length)
  })

  it('above 250 is refused, and that is audited too', async () => {
    const full = { ...store.webhooks, insert: async (_row: unknown, most: number) => most > 250 }
    await expect(
      createEndpoint({ ...deps, store: { ...deps.store, webhooks: full } }, REQUEST),
    ).rejects.toThrow(new UserError('There are 250 endpoints, which is the most. Delete one first.'))
    expect(audited.map(({ phase, outcome }) => [phase, outcome])).toEqual([
      ['webhook_created', 'ok'],
      ['webhook_created', 'refused'],
    ])
  })

  it.each([
    ['no name', { name: ' ' }, 'Give a name of 1 to 80 characters.'],
    ['a name of 81 characters', { name: 'x'.repeat(81) }, 'Give a name of 1 to 80 characters.'],
    ['a name with a line break', { name: 'a\nb' }, 'Give a name of 1 to 80 characters.'],
    ['the number of a person as its name', { name: 'of 08031234567' }, 'The name must not hold ten digits'],
    ['no address', { url: 'shop.example' }, 'Give an address such as https://'],
    ['another protocol', { url: 'ftp://shop.example' }, 'Give an address such as https://'],
    [
      'a long address',
      { url: `https://shop.example/${'x'.repeat(1980)}` },
      'Give an address such as https://',
    ],
    ['a user', { url: 'https://ada@shop.example' }, 'Give an address without a user'],
    ['a password', { url: 'https://:hunter2@shop.example' }, 'Give an address without a user'],
    ['a fragment', { url: 'https://shop.example/#a' }, 'Give an address without a user'],
    ['plain http', { url: 'http://shop.example' }, 'Give an https address.'],
    ['a private address', { url: 'https://10.0.0.1' }, 'The address is private, loopback or link-local.'],
    ['no event', { events: [] }, 'The events of an endpoint with keys are verification.completed,'],
    [
      'an event of the operator',
      { events: ['batch.completed', 'source.up'] },
      'The events of an endpoint with keys',
    ],
    ['an unknown event', { events: ['shop.opened'], keys: [] }, `The events are ${EVENT_TYPES.join(', ')}.`],
    ['an unknown key', { keys: ['aaaa', 'dddd'] }, 'One of the keys does not exist. See: tabbat keys list'],
    ['51 keys', { keys: Array(51).fill('aaaa') }, 'Give at most 50 keys.'],
  ])('with %s is refused, and neither stored nor audited', async (_what, change, message) => {
    const { length } = await store.webhooks.list()
    const error = await createEndpoint(deps, { ...REQUEST, ...change }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(UserError)
    expect(error.message).toContain(message)
    expect(error.message).not.toMatch(/hunter2|hidden|08031234567/)
    expect(await store.webhooks.list()).toHaveLength(length)
    expect(audited).toEqual([])
  })

  it.each([
    ['an address of 2000 characters', { url: `https://shop.example/${'x'.repeat(1979)}` }],
    ['a name of 80 characters', { name: 'x'.repeat(80) }],
    ['50 keys', { keys: Array(50).fill('cccc') }],
    ['all events of keys', { events: KEY_EVENTS }],
    ['all events, without keys', { events: EVENT_TYPES, keys: [] }],
  ])('may have %s', async (_what, change) => {
    const { row } = await createEndpoint(deps, { ...REQUEST, ...change })
    expect(await store.webhooks.find(row.id)).toEqual(row)
  })

  it('may be private or use plain http where the setting allows it', async () => {
    const allowed = { ...deps, allowPrivate: true }
    for (const url of ['http://shop.example/', 'https://10.0.0.1/', 'http://127.0.0.1/'])
      expect((await createEndpoint(allowed, { ...REQUEST, url })).row.url).toBe(url)
  })
})

describe('an endpoint', () => {
  let id: string
  let first: string
  beforeEach(async () => {
    const created = await createEndpoint(deps, { ...REQUEST, keys: [] })
    id = created.row.id
    first = created.secret
    audited = []
  })
  const entry = (phase: string, more = '') => [{ phase, outcome: 'ok', detail: `endpoint ${id}${more}` }]

  it('is rolled: the old secret stays valid for the overlap', async () => {
    const before = steadyNow()
    const { secret, row } = await rollEndpoint(deps, id, HOUR_MS)
    expect(secret).not.toBe(first)
    expect(open(row)).toBe(secret)
    expect(open({ id, secret: row.previousSecret as Uint8Array })).toBe(first)
    expect(row.previousUntil).toBeGreaterThanOrEqual(before + HOUR_MS)
    expect(row.previousUntil).toBeLessThanOrEqual(steadyNow() + HOUR_MS)
    expect(audited).toEqual(entry('webhook_rolled'))
  })

  it('that is deleted meanwhile is not rolled', async () => {
    const webhooks = { ...store.webhooks, roll: async () => false }
    await expect(rollEndpoint({ ...deps, store: { ...deps.store, webhooks } }, id, 1)).rejects.toThrow(
      UNKNOWN,
    )
  })

  it('is disabled and enabled, each once', async () => {
    await expect(enableEndpoint(deps, id)).rejects.toThrow(
      new UserError(`Endpoint ${id} is enabled already.`),
    )
    await disableEndpoint(deps, id)
    expect((await findEndpoint(deps, id)).disabledAt).toBeGreaterThan(0)
    await expect(disableEndpoint(deps, id)).rejects.toThrow(
      new UserError(`Endpoint ${id} is disabled already.`),
    )
    await enableEndpoint(deps, id)
    expect((await findEndpoint(deps, id)).disabledAt).toBeUndefined()
    expect(audited).toEqual([...entry('webhook_disabled'), ...entry('webhook_enabled')])
  })

  it('is deleted, and the audit keeps what it was', async () => {
    await deleteEndpoint(deps, id)
    await expect(findEndpoint(deps, id)).rejects.toThrow(UNKNOWN)
    expect(audited).toMatchObject([
      { phase: 'webhook_deleted', detail: expect.stringContaining('https://shop.example"') },
    ])
  })

  it('gets an event again, and no event that it never had', async () => {
    const event = await append(store)
    await store.deliveries.claim({ endpointId: id, most: 5, leaseMs: HOUR_MS }, steadyNow())
    expect(await store.deliveries.claim({ endpointId: id, most: 5, leaseMs: 1 }, steadyNow())).toEqual([])
    await resendEvent(deps, id, event.id)
    expect(await store.deliveries.claim({ endpointId: id, most: 5, leaseMs: 1 }, steadyNow())).toHaveLength(1)
    const none = new UserError('This endpoint has no such event. See: tabbat webhooks deliveries')
    const other = `evt_${'0'.repeat(33)}`
    await expect(resendEvent(deps, id, other)).rejects.toThrow(none)
    // A secret that was pasted by mistake is not written to the log.
    for (const text of ['whsec_x', `${other}0`, `x${other}`])
      await expect(resendEvent(deps, id, text)).rejects.toThrow(none)
    expect(audited.map(({ detail }) => detail)).toEqual([
      `endpoint ${id} ${event.id}`,
      `endpoint ${id} ${other}`,
      ...Array(3).fill(`endpoint ${id}`),
    ])
  })

  it('gets all events again that were given up since a time', async () => {
    const events = [await append(store), await append(store)]
    const settle = { status: 500, durationMs: 1, problem: 'status', disableAfterMs: HOUR_MS }
    for (const [index, { eventId, attempt }] of (
      await store.deliveries.claim({ endpointId: id, most: 5, leaseMs: HOUR_MS }, steadyNow())
    ).entries())
      await store.deliveries.settle({ ...settle, endpointId: id, eventId, attempt }, 1000 * (index + 1))
    expect(await resendFailedEvents(deps, id, 2000)).toBe(1)
    expect(await resendFailedEvents(deps, id)).toBe(1)
    expect(await resendFailedEvents(deps, id)).toBe(0)
    expect(events).toHaveLength(2)
    expect(audited.map(({ detail }) => detail)).toEqual([
      `endpoint ${id} all that failed since 1970-01-01T00:00:02.000Z`,
      `endpoint ${id} all that failed`,
      `endpoint ${id} all that failed`,
    ])
  })

  it('that is disabled gets no event again', async () => {
    await disableEndpoint(deps, id)
    const message = new UserError(`Endpoint ${id} is disabled. Enable it first.`)
    await expect(resendEvent(deps, id, 'evt_x')).rejects.toThrow(message)
    await expect(resendFailedEvents(deps, id)).rejects.toThrow(message)
  })

  it('is tested with a signed event of the present', async () => {
    const sent: { url: string; body: string; headers: Record<string, string> }[] = []
    const post = async (request: (typeof sent)[number]) => {
      sent.push(request)
      return { status: 204, retryAfterMs: undefined }
    }
    expect(await testEndpoint(deps, id, post as never)).toMatchObject({ status: 204, problem: undefined })
    const [{ url, body, headers } = { url: '', body: '', headers: {} as Record<string, string> }] = sent
    expect(url).toBe(REQUEST.url)
    expect(JSON.parse(body)).toMatchObject({ type: 'webhook.test', data: { reference: id, status: 'test' } })
    const at = Number(headers['webhook-timestamp']) * 1000
    expect(Math.abs(Date.now() - at)).toBeLessThan(HOUR_MS)
    expect(headers).toMatchObject(toSignedHeaders({ id: headers['webhook-id'] ?? '', at, body }, [first]))
    expect(audited).toEqual(entry('webhook_tested'))
  })

  it('is not changed if that cannot be audited', async () => {
    const before = await findEndpoint(deps, id)
    const unable = { ...deps, ...failing }
    const works = [
      rollEndpoint(unable, id, 1),
      disableEndpoint(unable, id),
      deleteEndpoint(unable, id),
      resendEvent(unable, id, `evt_${'0'.repeat(33)}`),
      resendFailedEvents(unable, id),
      testEndpoint(unable, id, () => Promise.reject(new Error('sent'))),
    ]
    for (const work of works) await expect(work).rejects.toThrow('the audit log is full')
    expect(await findEndpoint(deps, id)).toEqual(before)
    await disableEndpoint(deps, id)
    await expect(enableEndpoint(unable, id)).rejects.toThrow('the audit log is full')
    expect((await findEndpoint(deps, id)).disabledAt).toBeGreaterThan(0)
  })
})

it('an id that is unknown is not repeated: it may be a secret', async () => {
  const post = () => Promise.reject(new Error('sent'))
  const works = [
    findEndpoint(deps, 'whsec_x'),
    rollEndpoint(deps, 'whsec_x', 1),
    disableEndpoint(deps, 'whsec_x'),
    enableEndpoint(deps, 'whsec_x'),
    deleteEndpoint(deps, 'whsec_x'),
    resendEvent(deps, 'whsec_x', 'evt_x'),
    resendFailedEvents(deps, 'whsec_x'),
    testEndpoint(deps, 'whsec_x', post),
  ]
  for (const work of works) await expect(work).rejects.toThrow(UNKNOWN)
  expect(audited).toEqual([])
})
