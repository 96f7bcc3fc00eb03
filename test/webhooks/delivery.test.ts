import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import type { NewEvent } from '../../src/contract/event.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/contract/time.ts'
import { rollEndpoint } from '../../src/webhooks/manage.ts'
import { describeEngines, type Place, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'
import { answerWith, type Received, type Receiver, startReceiver } from './receiver.ts'
import { addEndpoint, append, openDelivery, toDeps, useProcessClock } from './setup.ts'

const MINUTES = 60_000
const SCHEDULE_MS = [
  5000,
  5 * MINUTES,
  30 * MINUTES,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * 60 * MINUTES),
]

/** Throws when the signature is wrong. */
const verify = (secret: string, { body, headers }: Received) =>
  new Webhook(secret).verify(body, headers as Record<string, string>)

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  let place: Place
  let store: Store
  let receiver: Receiver
  const closers: (() => Promise<void>)[] = []
  const open = (...args: Parameters<typeof openDelivery> extends [unknown, ...infer Rest] ? Rest : never) => {
    const delivery = openDelivery(store, ...args)
    closers.push(delivery.close)
    return delivery
  }
  beforeEach(async () => {
    place = await engine.createPlace()
    store = await place.open()
    receiver = await startReceiver()
  })
  afterEach(async () => {
    vi.useRealTimers()
    for (const close of closers.splice(0).toReversed()) await close()
    await receiver.close()
    await store.close()
  })

  describe('a delivery', () => {
    it('is signed as Standard Webhooks specifies', async () => {
      const { secret, row } = await addEndpoint(store, receiver.url)
      const delivery = open()
      const event = await append(store)
      await delivery.deliverDue()
      expect(receiver.received).toHaveLength(1)
      const [request] = receiver.received as [Received]
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      expect(verify(secret, request)).toEqual({
        ...{ type: 'verification.completed', timestamp: new Date(event.at).toISOString() },
        data: event.data,
      })
      expect(request.path).toBe('/hooks?shop=1')
      expect(request.headers).toMatchObject({ 'webhook-id': event.id, 'content-type': 'application/json' })
      expect(() => verify(secret, { ...request, body: `${request.body} ` })).toThrow()
      const [entry] = await store.deliveries.list({ endpointId: row.id, most: 5 })
      expect(entry).toMatchObject({
        state: 'delivered',
        attempts: [{ attempt: 1, status: 200, problem: undefined }],
      })
    })

    it('has the time of the machine, also after its clock was set back', async () => {
      const clock = { ms: Date.now() + HOUR_MS, wallMs: Date.now() }
      await useProcessClock(store)
      const { secret } = await addEndpoint(store, receiver.url)
      const delivery = open(clock)
      await append(store, { at: clock.ms })
      await delivery.deliverDue()
      // The library refuses timestamps that are not of the present.
      expect(verify(secret, receiver.received[0] as Received)).toBeTruthy()
    })

    it('carries two signatures after a roll, until the overlap ends', async () => {
      const clock = { ms: Date.now() }
      await useProcessClock(store)
      const { secret: old, row } = await addEndpoint(store, receiver.url)
      const { secret } = await rollEndpoint(toDeps(store), row.id, DAY_MS)
      const delivery = open(clock)
      await append(store, { at: clock.ms })
      await delivery.deliverDue()
      const [request] = receiver.received as [Received]
      expect(String(request.headers['webhook-signature']).split(' ')).toHaveLength(2)
      for (const each of [old, secret]) expect(verify(each, request)).toBeTruthy()
      // The library refuses timestamps that are not of the present, so only the signatures are counted.
      clock.ms += DAY_MS + MINUTE_MS
      await append(store, { at: clock.ms })
      await delivery.deliverDue()
      expect(String(receiver.received[1]?.headers['webhook-signature']).split(' ')).toHaveLength(1)
    })

    it('is repeated on the schedule, with the same id and a new timestamp, and then given up', async () => {
      const clock = { ms: Date.now() }
      await useProcessClock(store)
      const { row } = await addEndpoint(store, receiver.url)
      const delivery = open(clock)
      receiver.answer = answerWith(500)
      const event = await append(store, { at: clock.ms })
      await delivery.deliverDue()
      for (const [index, delayMs] of SCHEDULE_MS.entries()) {
        clock.ms += delayMs - 1
        await delivery.deliverDue()
        expect(receiver.received).toHaveLength(index + 1)
        clock.ms += 1
        await delivery.deliverDue()
        expect(receiver.received).toHaveLength(index + 2)
      }
      expect(delivery.givenUp.map(({ eventId }) => eventId)).toEqual([event.id])
      clock.ms += 10 * DAY_MS
      await delivery.deliverDue()
      expect(receiver.received).toHaveLength(10)
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(
        new Set([event.id]),
      )
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10)
      const [entry] = await store.deliveries.list({ endpointId: row.id, most: 5 })
      expect(entry?.state).toBe('failed')
      expect(entry?.attempts.map(({ status, problem }) => [status, problem])).toEqual(
        Array(10).fill([500, 'status']),
      )
    })

    it.each([
      [0, 4500],
      [1, 5500],
    ])('is repeated after a wait that differs by a tenth at most: %d', async (random, waitMs) => {
      const clock = { ms: Date.now() }
      await useProcessClock(store)
      await addEndpoint(store, receiver.url)
      const delivery = open(clock, true, random)
      receiver.answer = answerWith(500)
      await append(store, { at: clock.ms })
      await delivery.deliverDue()
      clock.ms += waitMs - 1
      await delivery.deliverDue()
      expect(receiver.received).toHaveLength(1)
      clock.ms += 1
      await delivery.deliverDue()
      expect(receiver.received).toHaveLength(2)
    })

    it('waits for earlier events of its reference, and others do not', async () => {
      const clock = { ms: Date.now() }
      await useProcessClock(store)
      await addEndpoint(store, receiver.url)
      const delivery = open(clock)
      const first = await append(store, { reference: 'ver_same', at: clock.ms - 3 })
      const second = await append(store, { reference: 'ver_same', at: clock.ms - 2 })
      const other = await append(store, { at: clock.ms - 1 })
      receiver.answer = ({ headers }, response) =>
        answerWith(headers['webhook-id'] === first.id ? 503 : 200)({} as Received, response)
      await delivery.deliverDue()
      await delivery.deliverDue()
      const ids = () => receiver.received.map(({ headers }) => headers['webhook-id'])
      expect(ids().toSorted()).toEqual([first.id, other.id].toSorted())
      receiver.answer = answerWith(204)
      clock.ms += 5000
      await delivery.deliverDue()
      expect(ids().slice(2)).toEqual([first.id, second.id])
    })

    it('survives a process that dies during the attempt', async () => {
      const clock = { ms: Date.now() }
      await useProcessClock(store)
      const { row } = await addEndpoint(store, receiver.url)
      const event = await append(store, { at: clock.ms })
      // A claim that is never settled.
      await store.deliveries.claim({ endpointId: row.id, most: 1, leaseMs: MINUTE_MS }, clock.ms)
      const delivery = open(clock)
      await delivery.deliverDue()
      expect(receiver.received).toHaveLength(0)
      clock.ms += MINUTE_MS
      await delivery.deliverDue()
      expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([event.id])
    })

    it('is given back when the process stops, and not counted as a failure', async () => {
      const { row } = await addEndpoint(store, receiver.url)
      receiver.answer = () => {}
      const event = await append(store)
      const delivery = open()
      delivery.wake()
      await receiver.wait(1)
      await delivery.close()
      expect((await store.webhooks.find(row.id))?.failingSince).toBeUndefined()
      receiver.answer = answerWith(200)
      const next = open()
      await next.deliverDue()
      expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([event.id, event.id])
    })

    it('is made once, by one of several nodes', async () => {
      await addEndpoint(store, receiver.url)
      const events = []
      for (let each = 0; each < 40; each++) events.push(await append(store))
      const other = await place.open()
      closers.push(() => other.close())
      const third = openDelivery(other)
      closers.push(third.close)
      const nodes = [open(), open(), third]
      // On a slow machine a turn ends before all is delivered.
      while (receiver.received.length < events.length)
        await Promise.all(nodes.map((node) => node.deliverDue()))
      await Promise.all(nodes.map((node) => node.deliverDue()))
      const ids = receiver.received.map(({ headers }) => String(headers['webhook-id']))
      expect(ids.toSorted()).toEqual(events.map(({ id }) => id).toSorted())
    })
  })

  describe('an endpoint', () => {
    it('that answers 410 is disabled, and gets nothing more', async () => {
      const { row } = await addEndpoint(store, receiver.url)
      const delivery = open()
      receiver.answer = answerWith(410)
      await append(store)
      await delivery.deliverDue()
      expect(delivery.disabled).toEqual([[row.id, 'gone']])
      await append(store)
      await delivery.deliverDue()
      expect(receiver.received).toHaveLength(1)
      expect(await store.webhooks.find(row.id)).toMatchObject({ disabledReason: 'gone' })
    })

    it('that fails for five days is disabled, and not before', async () => {
      const clock = { ms: Date.now() }
      await useProcessClock(store)
      const { row } = await addEndpoint(store, receiver.url)
      const delivery = open(clock)
      receiver.answer = answerWith(500)
      const startedAt = clock.ms
      for (; clock.ms < startedAt + 5 * DAY_MS; clock.ms += 6 * HOUR_MS) {
        await append(store, { at: clock.ms })
        await delivery.deliverDue()
        expect(delivery.disabled).toEqual([])
      }
      await delivery.deliverDue()
      expect(delivery.disabled).toEqual([[row.id, 'failing']])
    })

    it('that fails again after a month without events is not disabled for the month, but after five days', async () => {
      const clock = { ms: Date.now() }
      await useProcessClock(store)
      const { row } = await addEndpoint(store, receiver.url)
      const delivery = open(clock)
      receiver.answer = answerWith(500)
      const sendUntilGivenUp = async () => {
        await append(store, { at: clock.ms })
        await delivery.deliverDue()
        for (const delayMs of SCHEDULE_MS) {
          clock.ms += delayMs
          await delivery.deliverDue()
        }
      }
      await sendUntilGivenUp()
      expect((await store.webhooks.find(row.id))?.failingSince).toBeDefined()
      clock.ms += 30 * DAY_MS
      await sendUntilGivenUp()
      expect([delivery.givenUp.length, delivery.disabled]).toEqual([2, []])
      await sendUntilGivenUp()
      expect(delivery.disabled).toEqual([[row.id, 'failing']])
    })

    it('that failed while the clock was ahead is disabled all the same', async () => {
      const clock = { ms: Date.now() + 365 * DAY_MS }
      await useProcessClock(store)
      const { row } = await addEndpoint(store, receiver.url)
      const delivery = open(clock)
      receiver.answer = answerWith(500)
      await append(store, { at: clock.ms })
      await delivery.deliverDue()
      clock.ms -= 365 * DAY_MS
      const startedAt = clock.ms
      for (; clock.ms <= startedAt + 5 * DAY_MS; clock.ms += DAY_MS) {
        expect(delivery.disabled).toEqual([])
        await append(store, { at: clock.ms })
        await delivery.deliverDue()
      }
      expect(delivery.disabled).toEqual([[row.id, 'failing']])
    })

    it('that asks for a pause with Retry-After gets it, for all its events, at most a day', async () => {
      const clock = { ms: Date.now() }
      await useProcessClock(store)
      await addEndpoint(store, receiver.url)
      const delivery = open(clock)
      receiver.answer = answerWith(429, { 'retry-after': '3600' })
      await append(store, { at: clock.ms })
      await delivery.deliverDue()
      await append(store, { at: clock.ms })
      clock.ms += HOUR_MS - 1
      await delivery.deliverDue()
      expect(receiver.received).toHaveLength(1)
      clock.ms += 1
      receiver.answer = answerWith(503, { 'retry-after': '99999999' })
      await delivery.deliverDue()
      expect(receiver.received).toHaveLength(2)
      clock.ms += DAY_MS - 1
      await delivery.deliverDue()
      expect(receiver.received).toHaveLength(2)
      receiver.answer = answerWith(200)
      clock.ms += 1
      await delivery.deliverDue()
      expect(receiver.received.length).toBeGreaterThan(2)
    })

    it('that hangs does not delay another, nor do a thousand events of one', async () => {
      const slow = await startReceiver()
      closers.push(slow.close)
      slow.answer = () => {}
      await addEndpoint(store, slow.url)
      for (let each = 0; each < 10; each++)
        await store.events.append(Array.from({ length: 100 }, () => toBulk()))
      // The time limit of its requests never ends them: who waits for them waits in vain.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const delivery = open()
      delivery.wake()
      await slow.wait(8)
      await addEndpoint(store, receiver.url)
      const event = await append(store)
      delivery.wake()
      await receiver.wait(1)
      vi.useRealTimers()
      expect(receiver.received[0]?.headers['webhook-id']).toBe(event.id)
      expect(slow.received).toHaveLength(8)
    })
  })

  const toBulk = (): NewEvent => {
    bulk += 1
    const reference = `ver_bulk_${bulk}`
    return {
      ...{ id: `evt_bulk${bulk}`, type: 'verification.completed', at: Date.now(), keyId: '', reference },
      data: { reference, status: 'VERIFIED' },
    }
  }
  let bulk = 0
})
