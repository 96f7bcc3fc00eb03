import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { createEvent, type EventType, type NewEvent } from '../../src/contract/event.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { ROWS_PER_STEP } from '../../src/database/delete-some.ts'
import { withDefaults } from '../../src/keys/options.ts'
import { appendEvents } from '../../src/ledger/event-table.ts'
import type { ClaimedDelivery, Settlement } from '../../src/webhooks/delivery-table.ts'
import type { NewEndpoint } from '../../src/webhooks/webhook-table.ts'
import { createCleanup } from '../../src/webhooks/webhooks.ts'
import { describeEngines, ENGINES, type Place } from '../engines.ts'

/** PostgreSQL uses its own clock, so the tests use the present time. */
const now = () => Date.now()
const LEASE_MS = 60_000
const MOST = 1000

const toEndpoint = (values: Partial<NewEndpoint> = {}): NewEndpoint => ({
  id: `whk_${randomBytes(6).toString('hex')}`,
  name: 'Shop ₦ "one"',
  url: 'https://shop.example/hooks',
  createdAt: now(),
  secret: randomBytes(60),
  events: ['verification.completed'],
  lineages: [],
  ...values,
})

const toEvent = (values: Partial<Omit<NewEvent, 'id'>> = {}): NewEvent =>
  createEvent({
    type: 'verification.completed',
    at: now(),
    keyId: '',
    reference: `ver_${randomBytes(6).toString('hex')}`,
    data: { status: 'VERIFIED' },
    ...values,
  })

const toSettlement = (
  { endpointId, eventId, attempt }: ClaimedDelivery,
  values: Partial<Settlement>,
): Settlement => ({
  ...{ endpointId, eventId, attempt, status: 200, durationMs: 12, problem: undefined },
  ...{ disableAfterMs: 5 * DAY_MS, ...values },
})
const FAILED = { status: 500, problem: 'status' } as const

describeEngines(ENGINES, (engine) => {
  let place: Place
  let store: Store
  let other: Store
  beforeAll(async () => {
    place = await engine.createPlace()
    store = await place.open()
    other = await place.open()
  })
  afterAll(() => Promise.all([store.close(), other.close()]))

  /** An event type and key of its own keep the tests apart. */
  const addEndpoint = async (values: Partial<NewEndpoint> = {}) => {
    const lineage = randomBytes(4).toString('hex')
    const endpoint = toEndpoint({ lineages: [lineage], ...values })
    expect(await store.webhooks.insert(endpoint, MOST)).toBe(true)
    return { ...endpoint, keyId: lineage }
  }
  const claim = (endpointId: string, most = 10, from = store) =>
    from.deliveries.claim({ endpointId, most, leaseMs: LEASE_MS }, now())

  describe('endpoints', () => {
    it('are found and listed as they were inserted', async () => {
      const events: EventType[] = ['batch.completed', 'verification.completed']
      const endpoint = toEndpoint({ events, lineages: ['aaaa', 'bbbb'] })
      await store.webhooks.insert(endpoint, MOST)
      const found = await store.webhooks.find(endpoint.id)
      expect({ ...found, secret: Buffer.from(found?.secret ?? []).toString('hex') }).toEqual({
        ...endpoint,
        secret: Buffer.from(endpoint.secret).toString('hex'),
        ...{ previousSecret: undefined, previousUntil: undefined, disabledAt: undefined },
        ...{ disabledReason: undefined, failingSince: undefined, pausedUntil: 0 },
      })
      expect((await store.webhooks.list()).map(({ id }) => id)).toContain(endpoint.id)
      expect(await store.webhooks.find('unknown')).toBeUndefined()
    })

    it('are limited in number', async () => {
      const { length } = await store.webhooks.list()
      const results = await Promise.all(
        [store, other, store, other].map((node) => node.webhooks.insert(toEndpoint(), length + 1)),
      )
      expect(results.filter(Boolean)).toHaveLength(1)
    })

    it('are rolled, disabled, enabled and removed', async () => {
      const { id, secret } = await addEndpoint()
      expect(await store.webhooks.roll(id, { secret: randomBytes(9), previousUntil: 77 })).toBe(true)
      const rolled = await store.webhooks.find(id)
      expect(Buffer.from(rolled?.previousSecret ?? [])).toEqual(Buffer.from(secret))
      expect(rolled?.previousUntil).toBe(77)
      expect(await store.webhooks.disable(id, now())).toBe(true)
      expect(await store.webhooks.disable(id, now())).toBe(false)
      expect(await store.webhooks.find(id)).toMatchObject({ disabledReason: 'operator' })
      expect(await store.webhooks.enable(id)).toBe(true)
      expect(await store.webhooks.enable(id)).toBe(false)
      expect(await store.webhooks.remove(id)).toBe(true)
      expect(await store.removals.list()).toMatchObject([{ kind: 'endpoint', id }])
      expect(await store.webhooks.remove(id)).toBe(false)
      expect(await store.webhooks.roll(id, { secret, previousUntil: 1 })).toBe(false)
    })
  })

  describe('events', () => {
    it('reach the endpoints that want them, once', async () => {
      const wanted = await addEndpoint()
      const otherKey = await addEndpoint()
      const otherEvent = await addEndpoint({ lineages: [wanted.keyId], events: ['batch.completed'] })
      const disabled = await addEndpoint({ lineages: [wanted.keyId] })
      await store.webhooks.disable(disabled.id, now())
      const operator = await addEndpoint({ lineages: [] })
      const event = toEvent({ keyId: wanted.keyId })
      await store.events.append([event])
      await other.events.append([event])
      const counts = [wanted, operator, otherKey, otherEvent, disabled].map(({ id }) =>
        store.deliveries.countPending(id, 5),
      )
      expect(await Promise.all(counts)).toEqual([1, 1, 0, 0, 0])
      await store.webhooks.remove(operator.id)
    })

    it('belong to the lineage of the key', async () => {
      const { id, keyId } = await addEndpoint()
      const successor = randomBytes(4).toString('hex')
      await store.keys.insert({
        ...withDefaults({}),
        id: successor,
        mode: 'live',
        name: 'rolled',
        hash: randomBytes(32),
        scopes: ['kyc:nin'],
        createdAt: 1,
        expiresAt: undefined,
        revokedAt: undefined,
        rolledTo: undefined,
        lineage: keyId,
      })
      await store.events.append([toEvent({ keyId: successor })])
      expect(await store.deliveries.countPending(id, 5)).toBe(1)
    })

    it('are rolled back with the transaction they are in', async () => {
      const { id, keyId } = await addEndpoint()
      const work = store.database.transaction(async (tx) => {
        await appendEvents(tx, [toEvent({ keyId })])
        throw new Error('half-way')
      })
      await expect(work).rejects.toThrow('half-way')
      expect(await store.deliveries.countPending(id, 5)).toBe(0)
    })

    it('of a change are told by one node, once', async () => {
      const { id } = await addEndpoint({ lineages: [], events: ['source.down'] })
      const name = `source:${randomBytes(4).toString('hex')}`
      const down = () => toEvent({ type: 'source.down', reference: name })
      const results = await Promise.all(
        [store, other, store, other].map((node) =>
          node.events.change({ name, from: '', to: 'down' }, down()),
        ),
      )
      expect(results.filter(Boolean)).toHaveLength(1)
      expect(await store.events.listStates()).toContainEqual({ name, state: 'down' })
      expect(await other.events.change({ name, from: '', to: 'down' }, down())).toBe(false)
      expect(await store.deliveries.countPending(id, 5)).toBe(1)
      await store.webhooks.remove(id)
    })
  })

  describe('deliveries', () => {
    it('are claimed by one node each', async () => {
      const { id, keyId } = await addEndpoint()
      const events = Array.from({ length: 20 }, () => toEvent({ keyId }))
      await store.events.append(events)
      expect((await store.deliveries.listDue(now())).map((due) => due.id)).toContain(id)
      const claims = await Promise.all([store, other, store, other].map((node) => claim(id, 6, node)))
      const rest = await claim(id, 100)
      const ids = [...claims.flat(), ...rest].map(({ eventId }) => eventId)
      expect(ids.toSorted()).toEqual(events.map((event) => event.id).toSorted())
      expect(Math.max(...claims.map(({ length }) => length))).toBeLessThanOrEqual(6)
      expect((await store.deliveries.listDue(now())).map((due) => due.id)).not.toContain(id)
    })

    it('carry the body of the event', async () => {
      const { id, keyId } = await addEndpoint()
      const event = toEvent({ keyId, at: Date.UTC(2025, 10, 16, 1, 2, 3, 4), data: { status: 'VERIFIED' } })
      await store.events.append([event])
      const [claimed] = await claim(id)
      expect(claimed).toMatchObject({ eventId: event.id, tries: 0, attempt: 1 })
      expect(JSON.parse(claimed?.body ?? '')).toEqual({
        ...{ type: 'verification.completed', timestamp: '2025-11-16T01:02:03.004Z' },
        data: { status: 'VERIFIED' },
      })
    })

    it('of one reference follow each other, whatever becomes of the first', async () => {
      const { id, keyId } = await addEndpoint()
      const reference = 'ver_one'
      const [first, second, third] = [1, 2, 3].map(() => toEvent({ keyId, reference })) as [
        NewEvent,
        NewEvent,
        NewEvent,
      ]
      await store.events.append([first])
      await other.events.append([second, third])
      const [claimed] = await claim(id)
      expect(claimed?.eventId).toBe(first.id)
      expect(await claim(id)).toEqual([])
      await store.deliveries.settle(
        toSettlement(claimed as ClaimedDelivery, { ...FAILED, retryInMs: 60_000 }),
        now(),
      )
      expect(await claim(id)).toEqual([])
      await store.deliveries.resend(id, first.id, now())
      const [again] = await claim(id)
      await store.deliveries.settle(toSettlement(again as ClaimedDelivery, FAILED), now())
      const [next] = await claim(id)
      expect(next?.eventId).toBe(second.id)
      await store.deliveries.settle(toSettlement(next as ClaimedDelivery, {}), now())
      expect((await claim(id)).map(({ eventId }) => eventId)).toEqual([third.id])
    })

    it('of one reference follow each other also when they are resent, whatever the clock of their node was', async () => {
      const { id, keyId } = await addEndpoint()
      const reference = 'ver_resent'
      const ids: string[] = []
      const fail = async () => {
        const [claimed, ...more] = await claim(id)
        await store.deliveries.settle(toSettlement(claimed as ClaimedDelivery, FAILED), now())
        expect(more).toEqual([])
      }
      const append = async (behindMs: number) => {
        const event = toEvent({ keyId, reference, at: now() - behindMs })
        ids.push(event.id)
        await store.events.append([event])
      }
      await append(0)
      await append(30_000)
      await fail()
      await fail()
      await append(60_000)
      await fail()
      expect(await store.deliveries.resendFailed({ endpointId: id, since: 0, most: 10 }, now())).toBe(3)
      await append(90_000)
      const sent: string[] = []
      for (;;) {
        const claimed = await claim(id)
        if (claimed.length === 0) break
        sent.push(claimed.map(({ eventId }) => eventId).join())
        for (const each of claimed) await store.deliveries.settle(toSettlement(each, {}), now())
      }
      expect(sent).toEqual(ids)
    })

    it('are claimed again after their lease, and a late failure of the first claim changes nothing', async () => {
      const { id, keyId } = await addEndpoint()
      await store.events.append([toEvent({ keyId })])
      const short = { endpointId: id, most: 1, leaseMs: 0 }
      const [first] = await store.deliveries.claim(short, now())
      const [second] = await claim(id)
      expect(second).toMatchObject({ eventId: first?.eventId, attempt: 2, tries: 0 })
      await store.deliveries.settle(toSettlement(first as ClaimedDelivery, FAILED), now())
      expect((await store.deliveries.list({ endpointId: id, most: 5 }))[0]?.state).toBe('pending')
      await store.deliveries.settle(toSettlement(second as ClaimedDelivery, {}), now())
      const [row] = await store.deliveries.list({ endpointId: id, most: 5 })
      expect(row).toMatchObject({ state: 'delivered', dueAt: undefined })
      expect(row?.attempts.map(({ attempt, status, problem }) => [attempt, status, problem])).toEqual([
        [1, 500, 'status'],
        [2, 200, undefined],
      ])
    })

    it('stop while the endpoint is paused or disabled, and go on when it is enabled', async () => {
      const { id, keyId } = await addEndpoint()
      await store.events.append([toEvent({ keyId }), toEvent({ keyId }), toEvent({ keyId })])
      const isDue = async () => (await store.deliveries.listDue(now())).some((due) => due.id === id)
      const [first, second] = await claim(id, 2)
      await store.deliveries.settle(
        toSettlement(first as ClaimedDelivery, { ...FAILED, retryInMs: 0, pauseMs: 60_000 }),
        now(),
      )
      expect(await isDue()).toBe(false)
      expect((await store.webhooks.find(id))?.failingSince).toBeGreaterThan(0)
      const gone = { ...FAILED, status: 410, retryInMs: 0, isGone: true }
      const settled = await store.deliveries.settle(toSettlement(second as ClaimedDelivery, gone), now())
      expect(settled).toEqual({ disabled: 'gone' })
      expect(await store.webhooks.find(id)).toMatchObject({ disabledReason: 'gone' })
      expect(await isDue()).toBe(false)
      await store.webhooks.enable(id)
      expect(await isDue()).toBe(true)
      expect(await claim(id)).toHaveLength(3)
    })

    it('disable an endpoint that has failed for too long, and only then', async () => {
      const { id, keyId } = await addEndpoint()
      await store.events.append([toEvent({ keyId })])
      const failOnce = async (disableAfterMs: number) => {
        const [claimed] = await claim(id)
        return store.deliveries.settle(
          toSettlement(claimed as ClaimedDelivery, { ...FAILED, retryInMs: 0, disableAfterMs }),
          now(),
        )
      }
      expect(await failOnce(DAY_MS)).toEqual({ disabled: undefined })
      expect(await failOnce(DAY_MS)).toEqual({ disabled: undefined })
      expect(await failOnce(0)).toEqual({ disabled: 'failing' })
    })

    it('forgive an endpoint after one success', async () => {
      const { id, keyId } = await addEndpoint()
      await store.events.append([toEvent({ keyId }), toEvent({ keyId })])
      const [bad, good] = await claim(id)
      await store.deliveries.settle(toSettlement(bad as ClaimedDelivery, { ...FAILED, retryInMs: 9 }), now())
      await store.deliveries.settle(toSettlement(good as ClaimedDelivery, {}), now())
      expect((await store.webhooks.find(id))?.failingSince).toBeUndefined()
    })

    it('are resent with the same id, also after a success', async () => {
      const { id, keyId } = await addEndpoint()
      const event = toEvent({ keyId })
      await store.events.append([event])
      const [claimed] = await claim(id)
      await store.deliveries.settle(toSettlement(claimed as ClaimedDelivery, {}), now())
      expect(await store.deliveries.resend(id, event.id, now())).toBe(true)
      expect(await store.deliveries.resend(id, 'unknown', now())).toBe(false)
      expect(await claim(id)).toMatchObject([{ eventId: event.id, tries: 0, attempt: 2 }])
    })

    it('are listed in pages, the newest first', async () => {
      const { id, keyId } = await addEndpoint()
      const events = [1, 2, 3].map((ms) => toEvent({ keyId, at: now() + ms }))
      await store.events.append(events)
      const page = await store.deliveries.list({ endpointId: id, most: 2 })
      const rest = await store.deliveries.list({ endpointId: id, most: 2, before: page[1]?.eventId })
      expect([...page, ...rest].map(({ eventId }) => eventId)).toEqual(
        events.map((event) => event.id).toReversed(),
      )
    })

    describe('that expired', () => {
      const list = (endpointId: string) => store.deliveries.list({ endpointId, most: 9 })
      const cleanUp = async (kept: { ageMs: number; most: number }) => {
        const deleteExpired = createCleanup(store.deliveries, kept)
        while ((await deleteExpired()) >= ROWS_PER_STEP);
      }
      const KEPT = { ageMs: DAY_MS, most: 1000 }

      it('are deleted when they are too old, or of a removed endpoint; pending ones are kept', async () => {
        const { id, keyId } = await addEndpoint()
        const removed = [await addEndpoint(), await addEndpoint(), await addEndpoint()]
        const others = removed.map((endpoint) => toEvent({ keyId: endpoint.keyId }))
        await store.events.append([toEvent({ keyId }), toEvent({ keyId }), ...others])
        const [done] = await claim(id, 1)
        await store.deliveries.settle(toSettlement(done as ClaimedDelivery, {}), now())
        for (const endpoint of removed.slice(1)) await store.webhooks.remove(endpoint.id)
        await cleanUp(KEPT)
        const left = await Promise.all([id, ...removed.map((endpoint) => endpoint.id)].map(list))
        expect(left.map(({ length }) => length)).toEqual([2, 1, 0, 0])
        await cleanUp({ ...KEPT, ageMs: -DAY_MS })
        expect((await list(id)).map(({ state, attempts }) => [state, attempts])).toEqual([['pending', []]])
      })

      it('are deleted with what waits for an endpoint that was disabled for as long', async () => {
        const { id, keyId } = await addEndpoint()
        await store.events.append([toEvent({ keyId }), toEvent({ keyId })])
        const age = store.database.prepare('UPDATE webhook_deliveries SET due_at = 1 WHERE endpoint_id = $1')
        await age.run(id)
        await cleanUp(KEPT)
        expect(await list(id)).toHaveLength(2)
        await store.webhooks.disable(id, now())
        await cleanUp(KEPT)
        expect(await list(id)).toHaveLength(2)
        await store.database.prepare('UPDATE webhook_endpoints SET disabled_at = 1 WHERE id = $1').run(id)
        await cleanUp(KEPT)
        expect(await list(id)).toEqual([])
      })

      it('are the oldest, when there are too many', async () => {
        await cleanUp({ ...KEPT, ageMs: -DAY_MS })
        const { id } = await addEndpoint()
        const at = now()
        await store.database
          .prepare(
            `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 25000)
             INSERT INTO webhook_deliveries (endpoint_id, event_id, type, reference, position, body, state, due_at, tries,
               attempts, finished_at)
             SELECT CAST($1 AS TEXT), 'evt_' || n, 'webhook.test', 'ver_' || n, n, '{}', 'delivered', 0, 0, 1,
               CAST($2 AS BIGINT) + n FROM numbers`,
          )
          .run(id, at - 60_000)
        const find = (most: number) => store.deliveries.findExpired({ ageMs: DAY_MS, most }, at)
        expect((await find(15_000)).finishedBefore).toBe(at - 60_000 + 10_001)
        expect((await find(24_900)).finishedBefore).toBe(at - 60_000 + 101)
        expect(await find(1_000_000)).toMatchObject({ removed: [] })
        expect((await find(1_000_000)).finishedBefore).toBeLessThan(at - DAY_MS + 60_000)
        await cleanUp({ ageMs: DAY_MS, most: 24_900 })
        const row = await store.database
          .prepare('SELECT COUNT(*) AS count FROM webhook_deliveries WHERE endpoint_id = $1')
          .get(id)
        expect(Number(row?.count)).toBe(24_900)
      })
    })
  })
})
