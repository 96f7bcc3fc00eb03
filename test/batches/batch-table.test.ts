import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { NewBatchRow } from '../../src/batches/batch.ts'
import { toGroupChange } from '../../src/batches/batch-groups.ts'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, steadyNow } from '../../src/contract/time.ts'
import type { QueueChange } from '../../src/ledger/queue-rows.ts'
import { isAnything, listErased } from '../../src/people/erase-person.ts'
import { describeEngines, ENGINES } from '../engines.ts'
import { toErasureSubject } from '../people/erasure-subject.ts'

const FEED = { intervalMs: 100, aheadMs: 1000, mostQueued: 50, lifeMs: { test: 60_000, live: 60_000 } }
const OWNER = 'here'
const SUBJECT = Buffer.alloc(32, 7)

let counter = 0
const newId = () => `bat_${String(counter++).padStart(36, '0')}`

const toRow = (line: number): NewBatchRow => ({
  line,
  reference: `ver_${counter++}`,
  operation: 'verify_nin',
  subject: line === 3 ? SUBJECT : randomBytes(32),
  question: Buffer.from(`question ${line}`),
  label: Buffer.from(`label ${line}`),
})
const toRefused = (line: number): NewBatchRow => ({
  line,
  refusals: '[{"field":"nin","message":"nin is required"}]',
})

describeEngines(ENGINES, ({ createPlace }) => {
  let store: Store
  beforeEach(async () => {
    store = await (await createPlace()).open()
  })
  afterEach(() => store.close())

  const begin = (id: string, more: { idempotency?: Uint8Array; lineage?: string; most?: number } = {}) =>
    store.batches.begin(
      { id, owner: OWNER, keyId: 'key', lineage: 'key', mode: 'test', most: 10, ...more },
      steadyNow(),
    )

  const change = async (...changes: QueueChange[]) =>
    (
      await store.audit.append(
        { rows: store.audit.packRows([]) },
        {
          now: steadyNow(),
          changes: changes.map((each, index) => [index, each] as const),
        },
      )
    ).refused
  const accept = (
    batch: { id: string; owner: string },
    received: { rows: number; refused: number; fingerprint: Uint8Array },
  ) => change(toGroupChange({ kind: 'accept', ...batch, ...received }))
  const receive = async (rows: readonly NewBatchRow[], lineage = 'key', more = {}) => {
    const id = newId()
    await begin(id, { lineage, ...more })
    await store.batches.addRows({ id, owner: OWNER }, rows, steadyNow())
    const refused = rows.filter(({ refusals }) => refusals !== undefined).length
    const received = { rows: rows.length, refused, fingerprint: Buffer.from('body') }
    expect(await accept({ id, owner: OWNER }, received)).toEqual([])
    return { id, batch: await find(id) }
  }
  const find = async (id: string) => {
    const batch = await store.batches.find(id, undefined, DAY_MS, steadyNow())
    if (!batch) throw new Error('no such batch')
    return batch
  }
  const feedAll = async (options = FEED) => {
    let fed = 0
    for (;;) {
      const moved = await store.batches.feed(options, steadyNow())
      if (moved === 0) return fed
      fed += moved
    }
  }
  const claimAll = async (each = 1000) =>
    store.queue.claim(
      {
        ...{ lease: 'lease', leaseMs: 60_000, keys: ['key', 'other'], each },
        ...{ lane: 'batch', mode: 'test', operation: 'verify_nin' },
      },
      steadyNow(),
    )
  const finish = async (reference: string, outcome: string) => {
    const change = { kind: 'finish', reference, lease: 'lease', outcome, keepMs: 60_000 } as const
    const answer = { state: 'answered', answer: Buffer.from('answer'), stored: undefined } as const
    await store.audit.append(
      { rows: store.audit.packRows([]) },
      {
        now: steadyNow(),
        changes: [[0, { ...change, ...answer }]],
      },
    )
  }

  it('counts the rows of earlier batches of its key that wait before its own', async () => {
    const first = await receive([toRow(1), toRow(2), toRefused(3)])
    const second = await receive([toRow(1)])
    await receive([toRow(1)], 'other')
    expect([first.batch?.rowsAhead, second.batch?.rowsAhead]).toEqual([0, 2])
    await store.batches.feed(FEED, steadyNow())
    expect((await find(second.id)).rowsAhead).toBe(0)
  })

  it('keeps the answers of a batch until the batch has ended and its time is over', async () => {
    const { id } = await receive([toRow(1), toRow(2)])
    await feedAll({ ...FEED, intervalMs: 0.001 })
    const claimed = await claimAll()
    expect(claimed).toHaveLength(2)
    const [first = '', second = ''] = claimed.map(({ reference }) => reference)
    const keepMs = 60_000
    const list = () => store.batches.listResults(id, { afterLine: 0, most: 10, keepMs }, steadyNow())
    const states = async () => (await list()).map(({ state, answer }) => [state, answer !== undefined])
    const age = (table: string, column: string) =>
      store.database.prepare(`UPDATE ${table} SET ${column} = ${column} - ${keepMs}`).run()
    await finish(first, 'verified')
    await age('queued_verifications', 'expires_at')
    const whileRunning = await list()
    expect(whileRunning.filter(({ answer }) => answer)).toHaveLength(1)
    await store.queue.deleteExpired(keepMs, steadyNow())
    expect((await list()).filter(({ answer }) => answer)).toHaveLength(1)
    await finish(second, 'verified')
    await age('queued_verifications', 'expires_at')
    await store.queue.deleteExpired(keepMs, steadyNow())
    expect(await states()).toEqual([
      ['answered', true],
      ['answered', true],
    ])
    await age('batches', 'ended_at')
    expect(await states()).toEqual([
      ['gone', false],
      ['gone', false],
    ])
    await age('queued_verifications', 'expires_at')
    while ((await store.queue.deleteExpired(keepMs, steadyNow())) > 0);
    const left = 'SELECT COUNT(*) AS n FROM queued_verifications WHERE answer IS NOT NULL'
    expect(Number((await store.database.prepare(left).get())?.n)).toBe(0)
  })

  describe('a batch that is received', () => {
    it('is not shown and not fed before the whole body is there', async () => {
      const id = newId()
      await begin(id)
      await store.batches.addRows({ id, owner: OWNER }, [toRow(1)], steadyNow())
      expect(await store.batches.find(id, 'key', DAY_MS, steadyNow())).toBeUndefined()
      expect(await feedAll()).toBe(0)
    })

    it('belongs to the process that receives it', async () => {
      const id = newId()
      await begin(id)
      const other = { id, owner: 'elsewhere' }
      expect(await store.batches.addRows(other, [toRow(1)], steadyNow())).toBe(false)
      const received = { rows: 1, refused: 0, fingerprint: Buffer.from('body') }
      expect(await accept(other, received)).toEqual([[0, 'lease_lost']])
    })

    it('leaves nothing when its body breaks', async () => {
      const id = newId()
      await begin(id, { idempotency: Buffer.from('name') })
      await store.batches.addRows({ id, owner: OWNER }, [toRow(1), toRow(2)], steadyNow())
      await store.batches.breakOff({ id, owner: OWNER })
      expect((await begin(newId(), { idempotency: Buffer.from('name') })).state).toBe('begun')
      while ((await store.batches.deleteExpired(60_000, steadyNow())) > 0);
      expect(
        await store.batches.listResults(id, { afterLine: 0, most: 10, keepMs: 60_000 }, steadyNow()),
      ).toEqual([])
    })

    it('is found again by its Idempotency-Key', async () => {
      const idempotency = Buffer.from('name')
      const id = newId()
      await begin(id, { idempotency })
      expect((await begin(newId(), { idempotency })).state).toBe('running')
      expect((await begin(newId(), { idempotency, lineage: 'other' })).state).toBe('begun')
      await store.batches.addRows({ id, owner: OWNER }, [toRow(1)], steadyNow())
      const fingerprint = Buffer.from('body')
      await accept({ id, owner: OWNER }, { rows: 1, refused: 0, fingerprint })
      const known = await begin(newId(), { idempotency })
      expect(known).toMatchObject({ state: 'known', batch: { id } })
      expect(Buffer.from('fingerprint' in known ? known.fingerprint : [])).toEqual(fingerprint)
    })

    it('makes room when its process has died', async () => {
      const idempotency = Buffer.from('name')
      await begin(newId(), { idempotency })
      await store.database.prepare('UPDATE batches SET touched_at = touched_at - 120000').run()
      expect((await begin(newId(), { idempotency, most: 1 })).state).toBe('begun')
    })

    it('is one of a few that have not ended', async () => {
      await begin(newId())
      expect((await begin(newId(), { most: 1 })).state).toBe('full')
      expect((await begin(newId(), { most: 1, lineage: 'other' })).state).toBe('begun')
    })

    it('ends at once when all rows are refused', async () => {
      const { id } = await receive([toRefused(1), toRefused(2)])
      expect(await find(id)).toMatchObject({ state: 'completed', rows: 2, refused: 2 })
      expect(await store.batches.listRefusals(id, 0, 10)).toHaveLength(2)
      expect(await store.batches.listRefusals(id, 1, 10)).toMatchObject([{ line: 2 }])
    })
  })

  describe('a batch that runs', () => {
    it('moves its rows to the queue in order, at the rate of its key', async () => {
      const { id } = await receive([toRefused(1), toRow(2), toRow(5), toRow(9)])
      expect(await feedAll()).toBe(3)
      const due = await store.database
        .prepare('SELECT due_at - accepted_at AS delay FROM queued_verifications ORDER BY due_at')
        .all()
      expect(due.map(({ delay }) => Number(delay))).toEqual([0, 100, 200])
      expect(await find(id)).toMatchObject({ state: 'running', fed: 3 })
      expect((await find(id)).pacedUntil - (await find(id)).now).toBeGreaterThan(0)
    })

    it('plans no more than a moment ahead, and later batches of the key after the first', async () => {
      const first = await receive(Array.from({ length: 1000 }, (_each, index) => toRow(index + 10)))
      const second = await receive([toRow(1)])
      const startedAt = performance.now()
      const fed = await feedAll({ ...FEED, mostQueued: 1000 })
      const elapsedMs = performance.now() - startedAt
      expect(fed).toBeGreaterThanOrEqual(10)
      // One row more for the first moment, and one for the fractions of a millisecond.
      expect(fed).toBeLessThanOrEqual((FEED.aheadMs + elapsedMs) / FEED.intervalMs + 2)
      expect((await find(first.id)).fed).toBe(fed)
      expect((await find(second.id)).fed).toBe(0)
    })

    it('is not stopped by rows that were planned while the clock was ahead', async () => {
      await receive([toRow(1)])
      expect(await feedAll()).toBe(1)
      const paces = store.database.prepare('UPDATE batch_paces SET paced_until = paced_until + $1')
      await paces.run(365 * DAY_MS)
      const { id } = await receive([toRow(1), toRow(2)])
      expect(await feedAll()).toBe(2)
      const { now, pacedUntil } = await find(id)
      expect(pacedUntil - now).toBeLessThanOrEqual(2 * FEED.intervalMs)
      // What other nodes plan is kept.
      await paces.run(2 * FEED.aheadMs)
      await receive([toRow(1)])
      expect(await feedAll()).toBe(0)
    })

    it('does not slow the batches of another key', async () => {
      await receive(Array.from({ length: 30 }, (_each, index) => toRow(index + 10)))
      const other = await receive([toRow(1)], 'other')
      await feedAll()
      expect((await find(other.id)).fed).toBe(1)
    })

    it('has a bounded number of rows in the queue', async () => {
      await receive(Array.from({ length: 30 }, (_each, index) => toRow(index + 10)))
      expect(await feedAll({ ...FEED, intervalMs: 0.001, mostQueued: 7 })).toBe(7)
    })

    it('counts its rows as they end, and ends with the last', async () => {
      const { id } = await receive([toRow(1), toRow(2), toRefused(4), toRow(5)])
      await feedAll({ ...FEED, intervalMs: 0.001 })
      const [one, two, three] = (await claimAll()).map(({ reference }) => reference)
      await finish(String(one), 'verified')
      await finish(String(two), 'not_verified')
      expect(await find(id)).toMatchObject({ state: 'running', ends: { verified: 1, not_verified: 1 } })
      await finish(String(three), 'quota_exceeded')
      expect(await find(id)).toMatchObject({
        state: 'completed',
        ends: { verified: 1, not_verified: 1, failed: 1 },
      })
      expect((await find(id)).endedAt).toBeGreaterThan(0)
    })

    it('tells webhooks of its end, without personal data', async () => {
      await store.webhooks.insert(
        {
          ...{
            id: 'whk_1',
            name: 'shop',
            url: 'https://shop.example/hooks',
            createdAt: 0,
            secret: Buffer.from('x'),
          },
          ...{ events: ['batch.completed'], lineages: [] },
        },
        10,
      )
      const { id } = await receive([toRefused(1)])
      const deliveries = await store.database.prepare('SELECT event_id, body FROM webhook_deliveries').all()
      expect(deliveries.map(({ event_id }) => event_id)).toEqual([
        expect.stringMatching(/^evt_[0-9a-z]{33}$/),
      ])
      expect(JSON.parse(String(deliveries[0]?.body)).data).toEqual({
        ...{ reference: id, status: 'COMPLETED', mode: 'test', rows: 1, refused: 1 },
        ...{ verified: 0, not_verified: 0, failed: 0, expired: 0, cancelled: 0 },
      })
    })

    it('lists all rows in order, with what is known of each', async () => {
      const { id } = await receive([toRow(1), toRefused(2), toRow(3), toRow(4)])
      await feedAll({ ...FEED, intervalMs: 0.001, mostQueued: 2 })
      const claimed = await claimAll(1)
      const results = await store.batches.listResults(
        id,
        { afterLine: 0, most: 10, keepMs: 60_000 },
        steadyNow(),
      )
      expect(
        results.map(({ line, state, isRunning, isWaiting }) => [line, state, isRunning, isWaiting]),
      ).toEqual([
        [1, 'pending', true, false],
        [2, undefined, false, false],
        [3, 'pending', false, false],
        [4, undefined, false, true],
      ])
      await finish(String(claimed[0]?.reference), 'verified')
      const [first] = await store.batches.listResults(
        id,
        { afterLine: 0, most: 1, keepMs: 60_000 },
        steadyNow(),
      )
      expect(first).toMatchObject({ line: 1, state: 'answered', outcome: 'verified' })
      expect(Buffer.from(first?.answer ?? []).toString()).toBe('answer')
      expect(
        (await store.batches.listResults(id, { afterLine: 3, most: 10, keepMs: 60_000 }, steadyNow())).map(
          ({ line }) => line,
        ),
      ).toEqual([4])
    })

    it('is found by its key alone', async () => {
      const { id } = await receive([toRow(1)])
      expect(await store.batches.find(id, 'other', DAY_MS, steadyNow())).toBeUndefined()
      expect(await store.batches.find(id, 'key', DAY_MS, steadyNow())).toMatchObject({ id })
      const listed = await store.batches.list(undefined, 10, DAY_MS, steadyNow())
      expect(listed.map((batch) => batch.id)).toEqual([id])
    })
  })

  it('pages through batches of the same millisecond without leaving one out', async () => {
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.push((await receive([toRow(1)], `key ${count}`)).id)
    await store.database.prepare('UPDATE batches SET created_at = 1000 WHERE id <> $1').run(ids[4] ?? '')
    const listed: string[] = []
    for (;;) {
      const last = listed.at(-1)
      const before = last === undefined ? undefined : await find(last)
      const page = await store.batches.list(before, 2, DAY_MS, steadyNow())
      if (page.length === 0) break
      listed.push(...page.map(({ id }) => id))
    }
    expect(listed).toEqual(ids.toReversed())
  })

  describe('a batch that is stopped', () => {
    it('ends the rows that wait, and itself with the last that runs', async () => {
      const { id } = await receive([toRow(1), toRow(2), toRow(3)])
      await feedAll({ ...FEED, intervalMs: 0.001, mostQueued: 1 })
      const [running] = await claimAll()
      const stop = toGroupChange({ kind: 'stop', id })
      expect(await change(stop, stop)).toEqual([[1, 'lease_lost']])
      expect(await change(stop)).toEqual([])
      expect(await change(stop)).toEqual([[0, 'lease_lost']])
      expect(await feedAll()).toBe(2)
      expect(await find(id)).toMatchObject({ state: 'stopping', ends: { cancelled: 2 } })
      await finish(String(running?.reference), 'verified')
      expect(await find(id)).toMatchObject({ state: 'cancelled', ends: { cancelled: 2, verified: 1 } })
    })
  })

  describe('an erasure', () => {
    it('reaches rows that wait, rows in the queue and the words of the caller', async () => {
      const first = await receive([toRow(1), toRow(3)])
      await feedAll({ ...FEED, intervalMs: 0.001, mostQueued: 1 })
      const second = await receive([toRow(3)], 'other')
      const subject = toErasureSubject(SUBJECT)
      expect((await store.erasure.count(subject)).queued).toBe(2)
      const { queued, ended, batchLabels } = await store.erasure.erase(subject, steadyNow())
      expect([queued, ended.length, batchLabels]).toEqual([2, 2, 2])
      expect(await find(second.id)).toMatchObject({ state: 'completed', ends: { cancelled: 1 } })
      expect(await feedAll()).toBe(0)
      const [, erased] = await store.batches.listResults(
        first.id,
        { afterLine: 0, most: 10, keepMs: 60_000 },
        steadyNow(),
      )
      expect(erased).toMatchObject({ line: 3, label: undefined, isWaiting: false })
      const [running] = await claimAll()
      await finish(String(running?.reference), 'verified')
      expect(await find(first.id)).toMatchObject({ state: 'completed', ends: { verified: 1, cancelled: 1 } })
    })
  })

  it('counts the word of a caller also if nothing else is left of its row', async () => {
    await receive([toRow(3)])
    await feedAll({ ...FEED, intervalMs: 0.001 })
    await store.database.prepare('DELETE FROM queued_verifications').run()
    const subject = toErasureSubject(SUBJECT)
    const found = await store.erasure.count(subject)
    expect([found.queued, found.batchLabels, isAnything(found)]).toEqual([0, 1, true])
    expect(listErased({ ...found, batchLabels: 2 })).toBe('2 words of a caller in a batch')
    expect(await store.erasure.erase(subject, steadyNow())).toMatchObject({ queued: 0, batchLabels: 1 })
    expect(isAnything(await store.erasure.count(subject))).toBe(false)
  })

  it('says of each batch which ones run, how fast, and whether they wait for places', async () => {
    const rows = Array.from({ length: 30 }, (_each, index) => toRow(index + 1))
    const first = await receive(rows)
    expect(await feedAll({ ...FEED, intervalMs: 1 })).toBe(30)
    const { id } = await receive([toRow(1)], 'other')
    const running = async () =>
      (await find(id)).running.toSorted((one, other) => one.lineage.localeCompare(other.lineage))
    expect(await running()).toEqual([
      { lineage: 'key', rows: 30, perMs: 0, isLate: false },
      { lineage: 'other', rows: 1, perMs: 0, isLate: false },
    ])
    await store.database.prepare('UPDATE queued_verifications SET due_at = due_at - 10000').run()
    await store.database
      .prepare(
        'UPDATE batches SET verified = 20, mark_at = accepted_at - 10000, mark_ended = 0 WHERE id = $1',
      )
      .run(first.id)
    const [late] = await running()
    expect(late).toMatchObject({ lineage: 'key', rows: 10, isLate: true })
    expect(late?.perMs).toBeGreaterThan(0.0001)
    expect(late?.perMs).toBeLessThanOrEqual(0.002)
  })

  describe('a batch whose time is over', () => {
    it('is deleted with its rows, in steps', async () => {
      const { id } = await receive(Array.from({ length: 2500 }, (_each, index) => toRefused(index + 1)))
      expect(await store.batches.deleteExpired(60_000, steadyNow())).toBe(0)
      let steps = 0
      while ((await store.batches.deleteExpired(-1, steadyNow())) > 0) steps += 1
      expect(steps).toBe(store.database.dialect === 'postgres' ? 4 : 26)
      expect(await store.batches.find(id, 'key', DAY_MS, steadyNow())).toBeUndefined()
      const left = await store.database.prepare('SELECT COUNT(*) AS n FROM batch_rows').get()
      expect(Number(left?.n)).toBe(0)
    })

    it('is not shown any more, and its Idempotency-Key leads to it for a day', async () => {
      const idempotency = Buffer.from('name')
      const { id } = await receive([toRefused(1)], 'key', { idempotency })
      const deleteAllExpired = async () => {
        while ((await store.batches.deleteExpired(60_000, steadyNow())) > 0);
      }
      const age = (ms: number) =>
        store.database.prepare('UPDATE batches SET ended_at = ended_at - $1').run(ms)
      await age(60_000)
      await deleteAllExpired()
      const left = await store.database.prepare('SELECT COUNT(*) AS n FROM batch_rows').get()
      expect(Number(left?.n)).toBe(0)
      expect(await store.batches.find(id, 'key', 60_000, steadyNow())).toBeUndefined()
      expect(await store.batches.list(undefined, 10, 60_000, steadyNow())).toEqual([])
      expect(await begin(newId(), { idempotency })).toMatchObject({ state: 'known', batch: { id } })
      await age(DAY_MS - 60_000)
      await deleteAllExpired()
      expect((await begin(newId(), { idempotency })).state).toBe('begun')
    })
  })
})
