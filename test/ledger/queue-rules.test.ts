import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { createEvent } from '../../src/contract/event.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { packParts } from '../../src/ledger/commit.ts'
import type { Finish, NewQueued, QueueChange, QueueClass } from '../../src/ledger/queue-rows.ts'
import { SQLITE } from '../engines.ts'

/** The queue at exact times, on the clock that SQLite is given. queue-table.test.ts runs on every database. */
const NOW = 1_790_000_000_000
const NIN: QueueClass = { lane: 'single', mode: 'live', operation: 'verify_nin' }
const MANY = { perKey: 1000, all: 100_000 }
let store: Store
beforeAll(async () => {
  store = await (await SQLITE.createPlace()).open()
})
afterAll(() => store.close())

let counter = 0
/** New for each test, so that tests do not meet. */
const newId = (kind = 'id') => `${kind}${++counter}`
const toRow = (lineage: string, change: Partial<NewQueued> = {}): NewQueued => ({
  ...NIN,
  ...{ reference: newId('ver_'), keyId: `${lineage}-key`, lineage, subject: randomBytes(32) },
  ...{ delayMs: 0, lifeMs: 1000, question: Buffer.from('question') },
  ...change,
})
const enqueue = (rows: readonly NewQueued[], at = NOW, limits = MANY) => store.queue.enqueue(rows, limits, at)
const claim = async (lineage: string, at = NOW, change = {}) =>
  (
    await store.queue.claim(
      { ...NIN, lease: 'node:1', leaseMs: 100, keys: [lineage], each: 10, ...change },
      at,
    )
  ).map(({ reference }) => reference)
const change = async (changes: readonly QueueChange[], at = NOW) =>
  (
    await store.audit.append(
      { rows: store.audit.packRows([]) },
      { now: at, changes: changes.map((each, index) => [index, each] as const) },
    )
  ).refused
const finish = (reference: string, more: Partial<Finish> = {}): Finish => ({
  ...{ kind: 'finish', state: 'answered', outcome: 'verified', reference, lease: 'node:1' },
  ...{ answer: Buffer.from('answer'), stored: undefined, keepMs: 500, ...more },
})
const retry = (reference: string, more = {}): QueueChange => ({
  ...{ kind: 'retry', reference, lease: 'node:1', delayMs: 50, isAttempt: true, ...more },
})
const cancel = (reference: string, lineage: string): QueueChange => ({
  kind: 'cancel',
  reference,
  lineage,
  keepMs: 500,
})
const readRow = async (reference: string) =>
  (await store.database.prepare('SELECT * FROM queued_verifications WHERE reference = $1').all(reference))[0]
const pending = async (lineage: string) =>
  (await store.queue.countPending())
    .filter((count) => count.lineage === lineage)
    .map(({ lane, pending }) => `${lane} ${pending}`)

describe('a verification in the queue', () => {
  it('is stored with its times', async () => {
    const key = newId()
    const row = toRow(key, { delayMs: 10, batch: 'b1', paidCalls: 2, idempotency: Buffer.from('name') })
    expect(await enqueue([row])).toBe('queued')
    expect(await readRow(row.reference)).toMatchObject({
      ...{
        key_id: `${key}-key`,
        lineage: key,
        mode: 'live',
        operation: 'verify_nin',
        lane: 'single',
        batch: 'b1',
      },
      ...{ state: 'pending', paid_calls: 2, accepted_at: NOW, due_at: NOW + 10, expires_at: NOW + 1000 },
      ...{
        lease: null,
        attempts: 0,
        subject: new Uint8Array(row.subject),
        question: new Uint8Array(row.question),
      },
    })
    expect(await pending(key)).toEqual(['single 1'])
  })

  it('is given when it is due, to the millisecond, and again when the lease ends', async () => {
    const key = newId()
    const { reference } = toRow(key)
    await enqueue([toRow(key, { reference, delayMs: 10 })])
    expect(await claim(key, NOW + 9)).toEqual([])
    expect(await claim(key, NOW + 10)).toEqual([reference])
    expect(await readRow(reference)).toMatchObject({ lease: 'node:1', due_at: NOW + 110 })
    expect(await claim(key, NOW + 109, { lease: 'node:2' })).toEqual([])
    expect(await claim(key, NOW + 110, { lease: 'node:2' })).toEqual([reference])
  })

  it('is given in the order of its due time, so many of each key', async () => {
    const key = newId()
    const rows = [30, 10, 20].map((delayMs) => toRow(key, { delayMs }))
    await enqueue(rows)
    expect(await claim(key, NOW + 50, { each: 2 })).toEqual(
      expect.arrayContaining([rows[1]?.reference, rows[2]?.reference]),
    )
    expect(await claim(key, NOW + 50, { each: 2 })).toEqual([rows[0]?.reference])
  })

  it('is released by its lease only, and is due at once', async () => {
    const key = newId()
    const row = toRow(key)
    await enqueue([row])
    await claim(key)
    await store.queue.release([{ reference: row.reference, lease: 'node:2' }], NOW + 1)
    expect(await readRow(row.reference)).toMatchObject({ lease: 'node:1', due_at: NOW + 100 })
    await store.queue.release([{ reference: row.reference, lease: 'node:1' }], NOW + 1)
    expect(await readRow(row.reference)).toMatchObject({ lease: null, due_at: NOW + 1 })
  })

  it('expires at its time, unless an attempt is running', async () => {
    const key = newId()
    const [waiting, running] = [toRow(key, { delayMs: 5000 }), toRow(key)]
    await enqueue([waiting, running])
    await claim(key, NOW, { leaseMs: 1500 })
    const expire = async (at: number) =>
      (await store.queue.claimExpired({ lease: 'end:1', leaseMs: 10, most: 100 }, at))
        .filter(({ lineage }) => lineage === key)
        .map(({ reference, lifeMs }) => [reference, lifeMs])
    expect(await expire(NOW + 999)).toEqual([])
    expect(await expire(NOW + 1000)).toEqual([[waiting.reference, 0]])
    expect(await expire(NOW + 1499)).toEqual([[waiting.reference, -499]])
    expect(await expire(NOW + 1500)).toEqual(expect.arrayContaining([[running.reference, -500]]))
  })

  it('is found by its key, with what its caller may know', async () => {
    const key = newId()
    const { reference } = toRow(key)
    await enqueue([toRow(key, { reference, delayMs: 10 })])
    const find = (at: number, lineage = key) => store.queue.find(reference, lineage, at)
    expect(await find(NOW, 'another')).toBeUndefined()
    expect(await find(NOW)).toMatchObject({
      state: 'pending',
      isRunning: false,
      dueMs: 10,
      answer: undefined,
    })
    await claim(key, NOW + 10)
    expect(await find(NOW + 109)).toMatchObject({ isRunning: true })
    expect(await find(NOW + 110)).toMatchObject({ isRunning: false, dueMs: 0 })
    await change([finish(reference)], NOW + 20)
    expect(await find(NOW + 519)).toMatchObject({ state: 'answered', outcome: 'verified', dueMs: undefined })
    expect(await find(NOW + 520)).toMatchObject({ state: 'gone', answer: undefined })
    expect(await store.queue.listEnded([reference, 'ver_none'])).toEqual([reference, 'ver_none'])
  })

  it('knows how many of its key come before it', async () => {
    const key = newId()
    const rows = [0, 10, 20].map((delayMs) => toRow(key, { delayMs }))
    const others = [toRow(key, { mode: 'test' }), toRow(key, { operation: 'verify_bvn' }), toRow(newId())]
    await enqueue([...rows, ...others])
    const before = rows.map(({ reference }) => store.queue.countBefore(reference))
    expect(await Promise.all(before)).toEqual([0, 1, 2])
    expect(await store.queue.listEnded(rows.map(({ reference }) => reference))).toEqual([])
  })
})

describe('a change of the queue', () => {
  it('needs the lease of the verification', async () => {
    const key = newId()
    const { reference } = toRow(key)
    await enqueue([toRow(key, { reference })])
    for (const each of [
      finish(reference),
      retry(reference),
      finish('ver_none'),
      retry(reference, { lease: '' }),
    ])
      expect(await change([each])).toEqual([[0, 'lease_lost']])
    await claim(key)
    expect(await change([finish(reference, { lease: 'node:2' })])).toEqual([[0, 'lease_lost']])
    expect(await change([finish(reference)])).toEqual([])
    expect(await change([finish(reference)])).toEqual([[0, 'lease_lost']])
  })

  it('that ends an attempt sets the next one, and counts', async () => {
    const key = newId()
    const { reference } = toRow(key)
    await enqueue([toRow(key, { reference, paidCalls: 3 })])
    await claim(key)
    expect(await change([retry(reference, { refunded: 2 })], NOW + 5)).toEqual([])
    expect(await readRow(reference)).toMatchObject({
      lease: null,
      due_at: NOW + 55,
      attempts: 1,
      paid_calls: 1,
    })
    await claim(key, NOW + 55)
    expect(await change([retry(reference, { isAttempt: false })], NOW + 60)).toEqual([])
    expect(await readRow(reference)).toMatchObject({ due_at: NOW + 110, attempts: 1, paid_calls: 1 })
    expect(await pending(key)).toEqual(['single 1'])
  })

  it('that ends a verification erases the question, and keeps the answer for its time', async () => {
    const key = newId()
    const [one, two] = [toRow(key), toRow(key)]
    await enqueue([one, two])
    await claim(key)
    const found = randomBytes(32)
    await change(
      [finish(one.reference, { subject: found }), finish(two.reference, { answer: undefined })],
      NOW + 7,
    )
    expect(await readRow(one.reference)).toMatchObject({
      ...{
        state: 'answered',
        outcome: 'verified',
        expires_at: NOW + 507,
        due_at: null,
        lease: null,
        question: null,
      },
      ...{ answer: new Uint8Array(Buffer.from('answer')), subject: new Uint8Array(found) },
    })
    expect(await readRow(two.reference)).toMatchObject({ answer: null, subject: new Uint8Array(two.subject) })
    expect(await pending(key)).toEqual([])
  })

  it('by the caller needs its key, and that no attempt runs', async () => {
    const key = newId()
    const { reference } = toRow(key)
    await enqueue([toRow(key, { reference })])
    await claim(key)
    expect(await change([cancel(reference, key)], NOW + 99)).toEqual([[0, 'lease_lost']])
    expect(await change([cancel(reference, 'another')], NOW + 100)).toEqual([[0, 'lease_lost']])
    expect(await change([cancel(reference, key)], NOW + 100)).toEqual([])
    expect(await readRow(reference)).toMatchObject({
      state: 'cancelled',
      outcome: 'cancelled',
      expires_at: NOW + 600,
    })
    expect(await pending(key)).toEqual([])
  })

  it('sees what the changes before it in the same commit leave', async () => {
    const key = newId()
    const { reference } = toRow(key)
    await enqueue([toRow(key, { reference })])
    await claim(key)
    expect(await change([retry(reference), finish(reference)])).toEqual([[1, 'lease_lost']])
    expect(await readRow(reference)).toMatchObject({ lease: 'node:1', attempts: 0 })
    // One that is refused takes nothing from the next.
    expect(await change([finish(reference, { lease: 'x' }), finish(reference)])).toEqual([[0, 'lease_lost']])
    expect(await change([retry(reference), cancel(reference, key)])).toEqual([])
    expect(await readRow(reference)).toMatchObject({ state: 'cancelled', attempts: 1 })
  })

  it('is not made if a check of its commit fails', async () => {
    const key = newId()
    const { reference } = toRow(key)
    await enqueue([toRow(key, { reference })])
    await claim(key)
    const payer = { keyId: 'none', operation: 'o', name: Buffer.alloc(1), owner: 'x' }
    const parts = packParts([{ payment: { payer, most: 1, refunded: 0, expiresAt: 0 } }], NOW)
    const queue = { now: NOW, changes: [[1, finish(reference)]] as const }
    const { refused } = await store.audit.append({ rows: store.audit.packRows([]), parts }, queue)
    expect(refused).toEqual([[0, 'paid_calls']])
    expect(await readRow(reference)).toMatchObject({ state: 'pending', lease: 'node:1' })
  })

  it('tells webhooks of an end', async () => {
    const key = newId()
    const { reference } = toRow(key)
    const endpoint = {
      ...{ id: newId('whk_'), name: 'x', url: 'https://x.example/', createdAt: 1, secret: Buffer.alloc(1) },
      ...{ events: ['verification.completed' as const], lineages: [`${key}-key`] },
    }
    await store.webhooks.insert(endpoint, 1000)
    await enqueue([toRow(key, { reference })])
    await claim(key)
    const data = { reference, status: 'VERIFIED' }
    const event = createEvent({
      type: 'verification.completed',
      at: NOW,
      keyId: `${key}-key`,
      reference,
      data,
    })
    await change([finish(reference, { event })])
    expect(await store.deliveries.list({ endpointId: endpoint.id, most: 5 })).toMatchObject([
      { eventId: event.id, reference, state: 'pending' },
    ])
  })
})

describe('the limits of the queue', () => {
  const add = (row: NewQueued, limits = { perKey: 2, all: 1000 }): QueueChange => ({
    kind: 'enqueue',
    row,
    limits,
  })

  it('count what the same commit adds and ends', async () => {
    const key = newId()
    const rows = [toRow(key), toRow(key), toRow(key), toRow(key)]
    const [one, two, three, four] = rows as [NewQueued, NewQueued, NewQueued, NewQueued]
    expect(await change([add(one), add(two), add(three)])).toEqual([[2, 'queue_full']])
    expect(await pending(key)).toEqual([])
    expect(await change([add(one), add(two)])).toEqual([])
    expect(await pending(key)).toEqual(['single 2'])
    await claim(key)
    expect(await change([retry(one.reference), add(three)])).toEqual([[1, 'queue_full']])
    expect(await change([finish(one.reference), add(three), add(four)])).toEqual([[2, 'queue_full']])
    expect(await change([finish(one.reference), add(three)])).toEqual([])
    expect(await pending(key)).toEqual(['single 2'])
  })

  it('are those of each key and of all keys, in each lane', async () => {
    const { length } = await store.database
      .prepare('SELECT 1 FROM queued_verifications WHERE lane = $1')
      .all('batch')
    const key = newId()
    const batch = (lineage: string) => toRow(lineage, { lane: 'batch', batch: 'b' })
    const all = length + 2
    expect(await enqueue([batch(key), batch(key)], NOW, { perKey: 9, all })).toBe('queued')
    expect(await enqueue([batch(newId())], NOW, { perKey: 9, all })).toBe('full')
    expect(await enqueue([batch(newId())], NOW, { perKey: 9, all: all + 1 })).toBe('queued')
    expect(await enqueue([toRow(key)], NOW, { perKey: 1, all: 1000 })).toBe('queued')
    expect((await pending(key)).toSorted()).toEqual(['batch 2', 'single 1'])
  })
})

describe('the Idempotency-Key of a verification in the queue', () => {
  const setUp = async (paidCalls = 0) => {
    const key = newId()
    const name = randomBytes(32)
    const id = { keyId: key, operation: 'verify_nin', name, owner: 'node:1' }
    const claimed = { ...id, fingerprint: name, subject: null, leaseMs: 100, expiresAt: NOW + DAY_MS }
    await store.idempotency.claim({ ...claimed, now: NOW })
    const row = toRow(key, { idempotency: name, paidCalls })
    const completion = { claim: id, sealed: Buffer.from('pending'), expiresAt: NOW + 5 }
    const add = (owner: string): QueueChange => ({
      ...{ kind: 'enqueue', row, limits: MANY, completion: { ...completion, claim: { ...id, owner } } },
    })
    const read = async () => {
      const [stored] = await store.database.prepare('SELECT * FROM idempotency WHERE name = $1').all(name)
      return (
        stored && { ...stored, sealed: stored.sealed && String(Buffer.from(stored.sealed as Uint8Array)) }
      )
    }
    return { key, row, add, read }
  }

  it('holds "pending", and then the answer for a day', async () => {
    const { key, row, add, read } = await setUp()
    expect(await change([add('node:2')])).toEqual([[0, 'lease_lost']])
    expect(await pending(key)).toEqual([])
    expect(await change([add('node:1')])).toEqual([])
    expect(await read()).toMatchObject({ sealed: 'pending', expires_at: NOW + 5 })
    await claim(key)
    const subject = randomBytes(32)
    await change([finish(row.reference, { stored: Buffer.from('stored'), subject })], NOW + 20)
    expect(await read()).toMatchObject({
      ...{ sealed: 'stored', expires_at: NOW + 20 + DAY_MS, subject: new Uint8Array(subject) },
    })
  })

  it('is free after an end without a response that was not paid for', async () => {
    for (const [paidCalls, refunded] of [
      [0, undefined],
      [2, 2],
    ]) {
      const { key, row, add, read } = await setUp(paidCalls)
      await change([add('node:1')])
      await claim(key)
      await change([finish(row.reference, { state: 'expired', refunded })])
      expect(await read()).toBeUndefined()
    }
  })

  it('keeps its paid calls for a day after an end without a response', async () => {
    const { key, row, add, read } = await setUp(2)
    await change([add('node:1')])
    await claim(key)
    await change([finish(row.reference, { state: 'expired', refunded: 1 })], NOW + 20)
    expect(await read()).toMatchObject({
      sealed: null,
      lease_until: 0,
      paid_calls: 1,
      expires_at: NOW + 20 + DAY_MS,
    })
  })

  it('that was erased stays erased', async () => {
    const { key, row, add, read } = await setUp()
    await change([add('node:1')])
    await claim(key)
    await store.database.prepare('UPDATE idempotency SET sealed = NULL WHERE key_id = $1').run(key)
    await change([finish(row.reference, { stored: Buffer.from('stored') })])
    expect(await read()).toMatchObject({ sealed: null })
  })
})

it('answers are deleted after their time, and their references after seven days more', async () => {
  const key = newId()
  const { reference } = toRow(key)
  await enqueue([toRow(key, { reference })])
  await claim(key)
  await change([finish(reference)])
  await store.queue.deleteExpired(DAY_MS, NOW + 499)
  expect(await readRow(reference)).toMatchObject({ state: 'answered' })
  await store.queue.deleteExpired(DAY_MS, NOW + 500)
  expect(await readRow(reference)).toMatchObject({
    state: 'gone',
    answer: null,
    expires_at: NOW + 500 + 7 * DAY_MS,
  })
  await store.queue.deleteExpired(DAY_MS, NOW + 499 + 7 * DAY_MS)
  expect(await readRow(reference)).toBeDefined()
  await store.queue.deleteExpired(DAY_MS, NOW + 500 + 7 * DAY_MS)
  expect(await readRow(reference)).toBeUndefined()
})

it('paid calls are counted under the lease, within the budget, less those that were not billed', async () => {
  const key = newId()
  const { reference } = toRow(key)
  await enqueue([toRow(key, { reference, paidCalls: 1 })])
  const pay = async (lease: string, refunded: number) => {
    const payment = { payer: { reference, lease }, most: 3, expiresAt: 0, refunded }
    const parts = packParts([{ payment }], NOW)
    return (await store.audit.append({ rows: store.audit.packRows([]), parts })).refused[0]?.[1] ?? 'written'
  }
  expect(await pay('node:1', 0)).toBe('paid_calls')
  await claim(key)
  expect(await pay('node:2', 0)).toBe('paid_calls')
  expect([await pay('node:1', 0), await pay('node:1', 0), await pay('node:1', 0)]).toEqual([
    'written',
    'written',
    'paid_calls',
  ])
  expect(await pay('node:1', 2)).toBe('written')
  expect(await readRow(reference)).toMatchObject({ paid_calls: 2 })
  await change([finish(reference)])
  expect(await pay('node:1', 0)).toBe('paid_calls')
})

describe('an empty queue', () => {
  let own: Store
  beforeAll(async () => {
    own = await (await SQLITE.createPlace()).open()
  })
  afterAll(() => own.close())

  it('is late by what is due first, in any lane and class', async () => {
    expect(await own.queue.findLate(NOW)).toBeUndefined()
    expect(await own.queue.findOldest(NOW)).toBeUndefined()
    await own.queue.enqueue([toRow('a', { delayMs: 30, mode: 'test' })], MANY, NOW)
    expect(await own.queue.findLate(NOW + 10)).toBe(-20)
    expect(await own.queue.findOldest(NOW + 10)).toBeUndefined()
    await own.queue.enqueue([toRow('b', { delayMs: 20, lane: 'batch', operation: 'verify_bvn' })], MANY, NOW)
    expect(await own.queue.findLate(NOW + 25)).toBe(5)
    expect(await own.queue.findOldest(NOW + 25)).toBe(25)
  })

  it('lists the keys in turn, and says whether there are more', async () => {
    await own.queue.enqueue(
      ['k1', 'k2', 'k3', 'k4'].map((key) => toRow(key, { delayMs: 5 })),
      MANY,
      NOW,
    )
    const list = async (after: string, most: number) => {
      const [window] = await own.queue.listHeads([{ lane: 'single', after }], most, NOW + 5)
      const toText = ({ lineage, dueMs }: { lineage: string; dueMs: number }) => `${lineage} ${dueMs}`
      return [window?.heads.map(toText), window?.isPart, window?.elsewhere.map(toText)]
    }
    expect(await list('', 10)).toEqual([['a 25', 'k1 0', 'k2 0', 'k3 0', 'k4 0'], false, []])
    expect(await list('k2', 10)).toEqual([['k3 0', 'k4 0', 'a 25', 'k1 0', 'k2 0'], false, []])
    expect(await list('k1', 2)).toEqual([['k2 0', 'k3 0'], true, ['k1 0', 'k4 0']])
    expect(await list('k3', 2)).toEqual([['k4 0', 'a 25', 'k1 0'], true, ['k2 0', 'k3 0']])
  })
})
