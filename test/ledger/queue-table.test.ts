import { randomBytes, randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { NewQueued, QueueChange, QueueClass } from '../../src/ledger/queue-rows.ts'
import { TOMBSTONE_MS } from '../../src/ledger/queue-table.ts'
import { describeEngines, ENGINES, type Place } from '../engines.ts'
import { toErasureSubject } from '../people/erasure-subject.ts'
import { commitParts } from './commit-parts.ts'

const NIN: QueueClass = { lane: 'single', mode: 'live', operation: 'verify_nin' }
const MANY = { perKey: 1000, all: 1000 }
const MINUTE = 60_000

const toQueued = (values: Partial<NewQueued> = {}): NewQueued => ({
  ...NIN,
  reference: `ver_${randomUUID()}`,
  keyId: 'key00001',
  lineage: 'lineage1',
  subject: randomBytes(32),
  delayMs: 0,
  lifeMs: DAY_MS,
  question: randomBytes(200),
  ...values,
})

describeEngines(ENGINES, (engine) => {
  let place: Place
  let store: Store
  let stores: Store[]
  beforeEach(async () => {
    place = await engine.createPlace()
    store = await place.open()
    stores = [store]
  })
  afterEach(async () => void (await Promise.all(stores.map((each) => each.close()))))
  /** Three nodes in all. */
  const openOthers = async () => void stores.push(...(await Promise.all([place.open(), place.open()])))

  const enqueue = (...rows: NewQueued[]) => store.queue.enqueue(rows, MANY, Date.now())
  const claim = (
    most = 10,
    values: Partial<QueueClass & { lease: string; leaseMs: number; keys: string[] }> = {},
    from = store,
  ) =>
    from.queue.claim(
      { ...NIN, lease: 'node:1', leaseMs: MINUTE, keys: ['lineage1'], each: most, ...values },
      Date.now(),
    )
  const change = async (...changes: QueueChange[]) =>
    (
      await store.audit.append(
        { rows: store.audit.packRows([]) },
        {
          now: Date.now(),
          changes: changes.map((each, index) => [index, each] as const),
        },
      )
    ).refused
  const find = (reference: string, lineage = 'lineage1') => store.queue.find(reference, lineage, Date.now())
  const finish = (reference: string, lease = 'node:1', values = {}): QueueChange => ({
    ...{ kind: 'finish', state: 'answered', outcome: 'verified', keepMs: DAY_MS },
    ...{ reference, lease, answer: Buffer.from('sealed'), stored: undefined },
    ...values,
  })
  /** As if time had passed. */
  const age = (ms: number) =>
    store.database
      .prepare('UPDATE queued_verifications SET due_at = due_at - $1, expires_at = expires_at - $1')
      .run(ms)
  const countPending = async () =>
    (await store.queue.countPending()).map(({ lineage, lane, pending }) => `${lineage} ${lane} ${pending}`)

  describe('the queue', () => {
    it('gives what was written while the clock was ahead as soon as that is corrected, and no retry earlier', async () => {
      const limits = { longestRetryMs: 15 * MINUTE, limitMs: DAY_MS }
      const [ahead, running, retried] = [toQueued(), toQueued(), toQueued({ delayMs: 15 * MINUTE })]
      await enqueue(ahead, running)
      expect(await claim(1)).toHaveLength(1)
      await age(-30 * DAY_MS)
      await enqueue(retried)
      expect(await claim()).toEqual([])
      expect(await store.queue.correctDue(limits, Date.now())).toBe(2)
      expect(await store.queue.correctDue(limits, Date.now())).toBe(0)
      const waiting = await claim(10, { lease: 'node:2', leaseMs: 2 * MINUTE })
      // One of the two has a lease, which may be running: after a failover it is the clock of PostgreSQL that is behind.
      await age(MINUTE)
      const leased = await claim(10, { lease: 'node:2' })
      expect([waiting, leased].map((each) => each.length)).toEqual([1, 1])
      expect([...waiting, ...leased].map(({ reference }) => reference).sort()).toEqual(
        [ahead.reference, running.reference].sort(),
      )
      for (const { lifeMs } of [...waiting, ...leased]) expect(lifeMs).toBeLessThanOrEqual(DAY_MS)
    })

    it('is corrected in steps, so that nobody waits for a long queue', async () => {
      const rows = Array.from({ length: 2000 }, () => toQueued())
      await store.queue.enqueue(rows, { perKey: 2000, all: 2000 }, Date.now())
      await age(-30 * DAY_MS)
      const steps: number[] = []
      do steps.push(await store.queue.correctDue({ longestRetryMs: MINUTE, limitMs: DAY_MS }, Date.now()))
      while ((steps.at(-1) ?? 0) > 0)
      expect(steps.reduce((sum, step) => sum + step)).toBe(2000)
      expect(Math.max(...steps)).toBeLessThanOrEqual(1000)
    })

    it('gives what is due, the longest due first, as it was added', async () => {
      const [later, first, second] = [
        toQueued({ delayMs: MINUTE }),
        toQueued({ paidCalls: 1, idempotency: randomBytes(32) }),
        toQueued(),
      ]
      await enqueue(later, first)
      await age(1)
      await enqueue(second)
      const [claimed, ...others] = await claim(1)
      expect(others).toEqual([])
      expect(claimed).toMatchObject({
        ...{ reference: first.reference, lease: 'node:1', keyId: 'key00001', lineage: 'lineage1' },
        ...{ ...NIN, attempts: 0, paidCalls: 1, batch: undefined },
      })
      expect(Buffer.from(claimed?.question ?? []).equals(first.question)).toBe(true)
      expect(Buffer.from(claimed?.subject ?? []).equals(first.subject)).toBe(true)
      expect(Buffer.from(claimed?.idempotency ?? []).equals(first.idempotency ?? Buffer.of(1))).toBe(true)
      expect(claimed?.lifeMs).toBeGreaterThan(DAY_MS - MINUTE)
      expect((await claim()).map(({ reference }) => reference)).toEqual([second.reference])
      expect(await claim()).toEqual([])
    })

    it('lists further keys in the order in which they take turns, whatever the locale', async () => {
      const keys = ['a', 'B', 'c', 'D', 'e', 'F', 'g', 'H']
      await enqueue(...keys.map((lineage) => toQueued({ lineage })))
      const [found] = await store.queue.listHeads([{ lane: 'single', after: '' }], 4, Date.now())
      const elsewhere = found?.elsewhere.map(({ lineage }) => lineage) ?? []
      expect([found?.heads.length, elsewhere.length]).toEqual([4, 4])
      expect(elsewhere).toEqual(elsewhere.toSorted())
    })

    it('keeps the classes apart', async () => {
      const rows = [
        toQueued({ mode: 'test' }),
        toQueued({ operation: 'verify_bvn' }),
        toQueued({ lane: 'batch' }),
      ]
      await enqueue(...rows)
      expect(await claim()).toEqual([])
      expect(await claim(10, { mode: 'test' })).toMatchObject([{ reference: rows[0]?.reference }])
      expect(await claim(10, { operation: 'verify_bvn' })).toMatchObject([{ reference: rows[1]?.reference }])
      expect(await claim(10, { lane: 'batch' })).toMatchObject([{ reference: rows[2]?.reference }])
    })

    it('lists what is due first of each key, the keys in turn', async () => {
      const of = (lineage: string, values: Partial<NewQueued> = {}) => toQueued({ lineage, ...values })
      await enqueue(
        ...[of('b', { delayMs: MINUTE }), of('c', { operation: 'verify_bvn' }), of('c'), of('c')],
        ...[of('a'), of('d', { mode: 'test' }), of('d', { lane: 'batch' })],
      )
      const list = async (after: string, most = 10) =>
        (await store.queue.listHeads([{ lane: 'single', after }], most, Date.now()))[0]?.heads.map(
          ({ lineage, mode, operation, dueMs }) =>
            `${lineage} ${mode} ${operation} ${dueMs <= 0 ? 'due' : Math.ceil(dueMs / MINUTE)}`,
        )
      const [a, b, bvn, nin, d] = [
        ...['a live verify_nin due', 'b live verify_nin 1', 'c live verify_bvn due'],
        ...['c live verify_nin due', 'd test verify_nin due'],
      ]
      expect(await list('')).toEqual([a, b, bvn, nin, d])
      expect(await list('b')).toEqual([bvn, nin, d, a, b])
      expect(await list('bb')).toEqual([bvn, nin, d, a, b])
      expect(await list('d')).toEqual([a, b, bvn, nin, d])
      expect(await list('b', 2)).toEqual([bvn, nin, d])
      expect(await list('b', 3)).toEqual([bvn, nin, d, a, b])
      const both = await store.queue.listHeads(
        [
          { lane: 'batch', after: 'a' },
          { lane: 'single', after: 'c' },
        ],
        2,
        Date.now(),
      )
      expect(both.map(({ heads }) => heads.map(({ lineage }) => lineage))).toEqual([['d'], ['d', 'a', 'b']])
      expect(both.map(({ isPart }) => isPart)).toEqual([false, true])
    })

    it('gives as many of each key as asked for', async () => {
      const rows = ['lineage1', 'lineage1', 'lineage1', 'lineage2', 'lineage3'].map((lineage) =>
        toQueued({ lineage }),
      )
      await enqueue(...rows)
      const claimed = await claim(2, { keys: ['lineage1', 'lineage2', 'none'] })
      expect(claimed.map(({ lineage }) => lineage).toSorted()).toEqual(['lineage1', 'lineage1', 'lineage2'])
    })

    it('gives each verification to one of three nodes', async () => {
      await openOthers()
      const rows = Array.from({ length: 60 }, () => toQueued())
      await enqueue(...rows)
      const claims = await Promise.all(
        Array.from({ length: 12 }, (_, index) => claim(5, { lease: `node:${index}` }, stores[index % 3])),
      )
      const references = claims.flat().map(({ reference }) => reference)
      // A node may skip rows that another one is taking at this moment; none is given twice.
      expect(new Set(references).size).toBe(references.length)
      while (references.length < rows.length)
        references.push(...(await claim(60)).map(({ reference }) => reference))
      expect(references.toSorted()).toEqual(rows.map(({ reference }) => reference).toSorted())
    })

    it('gives a verification to another node after the lease, and refuses the first one then', async () => {
      const { reference } = toQueued()
      await enqueue(toQueued({ reference }))
      await claim()
      await age(MINUTE + 1)
      expect(await claim(1, { lease: 'node:2' })).toMatchObject([{ reference }])
      expect(await change(finish(reference))).toEqual([[0, 'lease_lost']])
      expect(
        await change({ kind: 'retry', reference, lease: 'node:1', delayMs: 0, isAttempt: true }),
      ).toEqual([[0, 'lease_lost']])
      expect(await find(reference)).toMatchObject({ state: 'pending', isRunning: true })
      expect(await change(finish(reference, 'node:2'))).toEqual([])
    })

    it('takes back what was claimed and not begun', async () => {
      await enqueue(toQueued(), toQueued())
      const [one] = await claim(2)
      await store.queue.release(
        [one as NonNullable<typeof one>, { reference: 'ver_x', lease: 'node:1' }],
        Date.now(),
      )
      expect((await claim()).map(({ reference }) => reference)).toEqual([one?.reference])
    })

    it('waits after a failure, and counts attempts', async () => {
      const { reference } = toQueued()
      await enqueue(toQueued({ reference }))
      await claim()
      await change({ kind: 'retry', reference, lease: 'node:1', delayMs: MINUTE, isAttempt: true })
      expect(await claim()).toEqual([])
      const waiting = await find(reference)
      expect(waiting).toMatchObject({ state: 'pending', isRunning: false, answer: undefined })
      expect(waiting?.dueMs).toBeGreaterThan(MINUTE - 10_000)
      await age(MINUTE)
      expect(await claim()).toMatchObject([{ attempts: 1 }])
      await change({ kind: 'retry', reference, lease: 'node:1', delayMs: 0, isAttempt: false })
      expect(await claim()).toMatchObject([{ attempts: 1 }])
    })
  })

  describe('an end', () => {
    it('keeps the answer for its time, then a tombstone, then nothing', async () => {
      const { reference } = toQueued()
      await enqueue(toQueued({ reference }))
      await claim()
      expect(await change(finish(reference))).toEqual([])
      const answered = await find(reference)
      expect(answered).toMatchObject({ state: 'answered', outcome: 'verified', dueMs: undefined })
      expect(String(Buffer.from(answered?.answer ?? []))).toBe('sealed')
      const row = await store.database.prepare('SELECT question, lease FROM queued_verifications').get()
      expect(row).toEqual({ question: null, lease: null })
      expect(await find(reference, 'another1')).toBeUndefined()
      expect(await store.queue.deleteExpired(DAY_MS, Date.now())).toBe(0)
      await age(DAY_MS)
      expect(await find(reference)).toMatchObject({ state: 'gone', answer: undefined })
      expect(await store.queue.deleteExpired(DAY_MS, Date.now())).toBe(1)
      expect(await find(reference)).toMatchObject({ state: 'gone', answer: undefined })
      await age(TOMBSTONE_MS)
      expect(await store.queue.deleteExpired(DAY_MS, Date.now())).toBe(1)
      expect(await find(reference)).toBeUndefined()
    })

    it('comes once, also in one commit with another', async () => {
      const { reference } = toQueued()
      await enqueue(toQueued({ reference }))
      await claim()
      expect(await change(finish(reference), finish(reference))).toEqual([[1, 'lease_lost']])
      expect(await find(reference)).toMatchObject({ state: 'pending' })
      expect(await change(finish(reference))).toEqual([])
      expect(await change(finish(reference))).toEqual([[0, 'lease_lost']])
    })

    it('is due when no source answered, also for one that waits for its next attempt, and not for one that runs', async () => {
      const [waiting, running, young] = [
        toQueued({ lifeMs: 10_000, delayMs: 5 * MINUTE }),
        toQueued({ lifeMs: 10_000 }),
        toQueued({ delayMs: MINUTE }),
      ]
      await enqueue(waiting, running, young)
      await claim()
      await age(10_000)
      const expired = await store.queue.claimExpired(
        { lease: 'node:9', leaseMs: MINUTE, most: 10 },
        Date.now(),
      )
      expect(expired).toMatchObject([{ reference: waiting.reference, lease: 'node:9' }])
      expect(expired[0]?.lifeMs).toBeLessThanOrEqual(0)
      const end = { state: 'expired', outcome: 'expired', answer: undefined }
      expect(await change(finish(waiting.reference, 'node:9', end))).toEqual([])
      expect(await find(waiting.reference)).toMatchObject({ state: 'expired', answer: undefined })
    })

    it('by the caller is refused while an attempt runs, after the end, and for another key', async () => {
      const rows = [toQueued(), toQueued(), toQueued({ delayMs: MINUTE })]
      await enqueue(...rows)
      const [running, ended, waiting] = rows.map(({ reference }) => reference) as [string, string, string]
      await claim()
      await change(finish(ended))
      const cancel = (reference: string, lineage = 'lineage1') =>
        change({ kind: 'cancel', reference, lineage, keepMs: DAY_MS })
      expect(await cancel(running)).toEqual([[0, 'lease_lost']])
      expect(await cancel(ended)).toEqual([[0, 'lease_lost']])
      expect(await cancel(waiting, 'another1')).toEqual([[0, 'lease_lost']])
      expect(await cancel(waiting)).toEqual([])
      expect(await cancel(waiting)).toEqual([[0, 'lease_lost']])
      expect(await find(waiting)).toMatchObject({ state: 'cancelled', outcome: 'cancelled' })
      expect(await countPending()).toEqual(['lineage1 single 1'])
    })
  })

  describe('the limits', () => {
    it('hold for each key and for all, in each lane, and count what has ended', async () => {
      const limits = { perKey: 2, all: 3 }
      const add = (values: Partial<NewQueued> = {}, count = 1) =>
        store.queue.enqueue(
          Array.from({ length: count }, () => toQueued(values)),
          limits,
          Date.now(),
        )
      expect(await add({}, 3)).toBe('full')
      expect(await countPending()).toEqual([])
      expect(await add({}, 2)).toBe('queued')
      expect(await add()).toBe('full')
      expect(await add({ lineage: 'lineage2' })).toBe('queued')
      expect(await add({ lineage: 'lineage2' })).toBe('full')
      expect(await add({ lane: 'batch' })).toBe('queued')
      const [{ reference } = { reference: '' }] = await claim(1)
      await change(finish(reference))
      expect(await add({ lineage: 'lineage2' })).toBe('queued')
      expect(await countPending()).toEqual(['lineage1 batch 1', 'lineage1 single 1', 'lineage2 single 2'])
    })

    it('are exact when three nodes add at once', async () => {
      await openOthers()
      const added = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          stores[index % 3]?.queue.enqueue([toQueued()], { perKey: 17, all: 1000 }, Date.now()),
        ),
      )
      expect(added.filter((each) => each === 'queued')).toHaveLength(17)
      expect(await countPending()).toEqual(['lineage1 single 17'])
    })

    it('refuse one change, and nothing of its commit is written', async () => {
      const [one, two] = [toQueued(), toQueued()]
      const limits = { perKey: 1, all: 10 }
      const refused = await change(
        { kind: 'enqueue', row: one, limits },
        { kind: 'enqueue', row: two, limits },
      )
      expect(refused).toEqual([[1, 'queue_full']])
      expect(await find(one.reference)).toBeUndefined()
      expect(await change({ kind: 'enqueue', row: one, limits })).toEqual([])
      expect(await find(one.reference)).toMatchObject({ state: 'pending' })
    })
  })

  describe('paid calls', () => {
    const spend = async (reference: string, lease = 'node:1', refunded = 0) => {
      const payment = { payer: { reference, lease }, most: 2, expiresAt: 0, refunded }
      return (await commitParts(store, [{ payment }]))[0]?.[1] ?? 'admitted'
    }

    it('are counted before they are made, under the lease and within the budget', async () => {
      const { reference } = toQueued()
      await enqueue(toQueued({ reference, paidCalls: 1 }))
      expect(await spend(reference)).toBe('paid_calls')
      await claim()
      expect(await spend(reference, 'node:2')).toBe('paid_calls')
      expect(await spend(reference)).toBe('admitted')
      expect(await spend(reference)).toBe('paid_calls')
      // One that was not billed makes room for another.
      expect(await spend(reference, 'node:1', 1)).toBe('admitted')
      const payer = { reference, lease: 'node:1' }
      await store.spend.refund({ id: randomUUID(), name: 'acme', day: 1, node: 'a', kobo: 10, payer })
      expect(await spend(reference)).toBe('admitted')
      await change({ kind: 'retry', reference, lease: 'node:1', delayMs: 0, isAttempt: true, refunded: 1 })
      expect(await claim()).toMatchObject([{ paidCalls: 1 }])
    })
  })

  describe('an Idempotency-Key', () => {
    const name = randomBytes(32)
    const claimKey = (owner = 'node:1:1') => ({
      ...{ keyId: 'lineage1', operation: 'verify_nin', name, owner },
      ...{ fingerprint: randomBytes(32), subject: randomBytes(32) },
      ...{ now: Date.now(), leaseMs: MINUTE, expiresAt: Date.now() + DAY_MS },
    })
    const toCompletion = (owner: string) => ({
      claim: { keyId: 'lineage1', operation: 'verify_nin', name, owner },
      sealed: Buffer.from('pending'),
      expiresAt: Date.now() + DAY_MS,
    })
    const readStored = async () => {
      const row = await store.database.prepare('SELECT sealed FROM idempotency').get()
      return row && String(Buffer.from((row.sealed as Uint8Array) ?? []))
    }

    it('leads to the response "pending" first, and to the answer in the end', async () => {
      await store.idempotency.claim(claimKey())
      const row = toQueued({ idempotency: name })
      const add = (owner: string) =>
        change({ kind: 'enqueue', row, limits: MANY, completion: toCompletion(owner) })
      expect(await add('node:1:2')).toEqual([[0, 'lease_lost']])
      expect(await find(row.reference)).toBeUndefined()
      expect(await add('node:1:1')).toEqual([])
      expect(await readStored()).toBe('pending')
      await claim()
      await change(finish(row.reference, 'node:1', { stored: Buffer.from('answer') }))
      expect(await readStored()).toBe('answer')
    })

    it('is free again after a cancellation', async () => {
      await store.idempotency.claim(claimKey())
      const row = toQueued({ idempotency: name })
      await change({ kind: 'enqueue', row, limits: MANY, completion: toCompletion('node:1:1') })
      const { reference, lineage } = row
      expect(await change({ kind: 'cancel', reference, lineage, keepMs: DAY_MS })).toEqual([])
      expect(await readStored()).toBeUndefined()
    })
  })

  describe('an erasure', () => {
    it('erases questions and answers about the person, and no others', async () => {
      const subject = randomBytes(32)
      const rows = [
        toQueued({ subject }),
        toQueued({ subject }),
        toQueued({ subject, delayMs: MINUTE }),
        toQueued(),
      ]
      await enqueue(...rows)
      await claim(2)
      const [first, second, third, other] = rows.map(({ reference }) => reference) as [
        string,
        string,
        string,
        string,
      ]
      await change(finish(first))
      const person = toErasureSubject(subject)
      expect(await store.erasure.count(person)).toMatchObject({ queued: 3 })
      const { queued, ended } = await store.erasure.erase(person, Date.now())
      expect(queued).toBe(3)
      expect(ended.map(({ reference }) => reference).toSorted()).toEqual([second, third].toSorted())
      for (const reference of [first, second, third])
        expect(await find(reference)).toMatchObject({ state: 'gone', answer: undefined })
      expect(await change(finish(second))).toEqual([[0, 'lease_lost']])
      expect(await find(other)).toMatchObject({ state: 'pending' })
      expect(await countPending()).toEqual(['lineage1 single 1'])
      const left = await store.database
        .prepare(
          'SELECT COUNT(*) AS left FROM queued_verifications WHERE question IS NOT NULL OR answer IS NOT NULL',
        )
        .get()
      expect(Number(left?.left)).toBe(1)
    })
  })

  describe('a batch', () => {
    it('lists what can be cancelled', async () => {
      const rows = Array.from({ length: 4 }, () => toQueued({ lane: 'batch', batch: 'bat_1' }))
      await enqueue(...rows, toQueued({ lane: 'batch', batch: 'bat_2' }), toQueued())
      const [ended] = await claim(1, { lane: 'batch' })
      await change(finish(ended?.reference ?? ''))
      const [running] = await claim(1, { lane: 'batch' })
      const waiting = (await store.queue.listWaiting('bat_1', 10, Date.now())).map(
        ({ reference }) => reference,
      )
      const left = rows
        .map(({ reference }) => reference)
        .filter((each) => ![ended, running].some((claimed) => claimed?.reference === each))
      expect(waiting.toSorted()).toEqual(left.toSorted())
      expect(await store.queue.listWaiting('bat_1', 1, Date.now())).toHaveLength(1)
    })
  })
})
