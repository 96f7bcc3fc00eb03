import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, MINUTE_MS } from '../../src/contract/time.ts'
import type { CheckedAnswer, CheckedGuess, CommitParts, Spending } from '../../src/ledger/commit.ts'
import { packParts } from '../../src/ledger/commit.ts'
import { tallyRows } from '../../src/ledger/tally.ts'
import { describeEngines, type Place, POSTGRES, SQLITE } from '../engines.ts'

/** What a commit checks and writes, at the limits. Random cases are compared in same-rules.test.ts. */
const NOW = 1_790_000_000_000
async function runSql({ options }: Place, sql: string): Promise<void> {
  const client = new Client({ connectionString: options.databaseUrl })
  await client.connect()
  await client.query(sql)
  await client.end()
}

describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  beforeAll(async () => {
    const place = await engine.createPlace()
    store = await place.open()
    // The time that a test gives, as on SQLite, in place of that of the server.
    if (engine === POSTGRES)
      await runSql(
        place,
        `CREATE OR REPLACE FUNCTION shared_clock(process_ms BIGINT) RETURNS BIGINT LANGUAGE sql AS 'SELECT process_ms'`,
      )
  })
  afterAll(() => store.close())

  let counter = 0
  /** New for each test, so that tests do not meet. */
  const newId = () => `id${++counter}`
  const toBytes = (text: string) => Buffer.alloc(32, `${text} `)
  const toHex = (text: string) => toBytes(text).toString('hex')

  const append = (parts: readonly CommitParts[], at = NOW) =>
    store.audit.append({ rows: store.audit.packRows([]), parts: packParts(parts, at) })
  const commit = async (parts: CommitParts, at = NOW) =>
    (await append([parts], at)).refused[0]?.[1] ?? 'written'
  const query = (sql: string, ...values: (string | number | Uint8Array)[]) =>
    store.database.prepare(sql).all(...values)

  it('audit rows are written as they were linked, with the statistics', async () => {
    const chain = newId()
    const entry = { phase: 'outcome', time: '2026-11-17T08:00:00.000Z', outcome: 'verified', detail: 'x, y' }
    const rows = linkEntries(chain, EMPTY_HEAD, [entry, { ...entry, phase: 'replay' }])
    await store.audit.append({ rows: store.audit.packRows(rows), tallies: tallyRows(rows) })
    const written = await query('SELECT * FROM audit WHERE chain = $1 ORDER BY sequence', chain)
    const toHash = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString('hex')
    const plain = (row: object) => ({
      ...row,
      hash: toHash((row as { hash: unknown }).hash),
      previous_hash: toHash((row as { previous_hash: unknown }).previous_hash),
    })
    expect(written.map(plain)).toEqual(rows.map(plain))
    const tallies = await query('SELECT span, count FROM statistics WHERE chain = $1 ORDER BY span', chain)
    expect(tallies.map(({ span, count }) => `${span} ${count}`)).toEqual(['day 1', 'hour 1', 'minute 1'])
  })

  describe('a guess', () => {
    const toGuess = (subject: string, keyId: string, change: Partial<CheckedGuess> = {}) => ({
      guess: {
        ...{ subject: toHex(subject), keyId, isWrong: true, maxPeople: 1000, attempt: { counted: false } },
        ...change,
      },
    })
    const guess = (subject: string, keyId: string, change: Partial<CheckedGuess> = {}, at = NOW) =>
      commit(toGuess(subject, keyId, change), at)

    it('is refused after five wrong ones of its key within a day, to the millisecond', async () => {
      const [person, key] = [newId(), newId()]
      for (let each = 0; each < 5; each++) expect(await guess(person, key)).toBe('written')
      expect(await guess(person, key)).toBe('too_many_attempts')
      expect(await guess(person, key, { isWrong: false })).toBe('too_many_attempts')
      expect(await guess(person, newId())).toBe('written')
      expect(await guess(newId(), key)).toBe('written')
      expect(await guess(person, key, {}, NOW + DAY_MS - 1)).toBe('too_many_attempts')
      expect(await guess(person, key, {}, NOW + DAY_MS)).toBe('written')
    })

    it('is refused after twenty wrong ones of all keys', async () => {
      const person = newId()
      const keys = Array.from({ length: 20 }, newId)
      for (const key of keys) expect(await guess(person, key)).toBe('written')
      expect(await guess(person, newId())).toBe('too_many_attempts')
    })

    it('is refused after others of its own commit, alone and together with earlier ones', async () => {
      const [person, key] = [newId(), newId()]
      const ofKey = Array.from({ length: 6 }, () => toGuess(person, key))
      expect((await append(ofKey)).refused).toEqual([[5, 'too_many_attempts']])
      expect((await append(ofKey.slice(3))).refused).toEqual([])
      expect((await append(ofKey.slice(3))).refused).toEqual([[2, 'too_many_attempts']])
      const known = newId()
      const ofAll = Array.from({ length: 21 }, () => toGuess(known, newId()))
      expect((await append(ofAll)).refused).toEqual([[20, 'too_many_attempts']])
      expect((await append(ofAll.slice(10, 20))).refused).toEqual([])
      expect((await append(ofAll.slice(0, 11))).refused).toEqual([[10, 'too_many_attempts']])
    })

    it('is not refused because of those that are a day old, beside younger ones', async () => {
      const [person, key] = [newId(), newId()]
      for (const at of [NOW, NOW, NOW, NOW, NOW + 1]) await guess(person, key, {}, at)
      expect(await guess(person, key, {}, NOW + DAY_MS - 1)).toBe('too_many_attempts')
      expect(await guess(person, key, {}, NOW + DAY_MS)).toBe('written')
    })

    it('about further people than the quota is refused after others of its own commit', async () => {
      const key = newId()
      const ask = (person: string) => toGuess(person, key, { isWrong: false, maxPeople: 3 })
      const [one, two, three, four] = [newId(), newId(), newId(), newId()]
      expect((await append([one, two, one, three, four].map(ask))).refused).toEqual([[4, 'quota_exceeded']])
      expect((await append([one, two, one].map(ask))).refused).toEqual([])
      expect((await append([two, three, four].map(ask))).refused).toEqual([[2, 'quota_exceeded']])
      expect((await append([two, three].map(ask))).refused).toEqual([])
    })

    it('that is right leaves nothing', async () => {
      const person = newId()
      for (let each = 0; each < 30; each++)
        expect(await guess(person, 'right', { isWrong: false })).toBe('written')
      expect(await query('SELECT * FROM attempts WHERE subject = $1', toBytes(person))).toEqual([])
    })

    it('about a further person than the quota of its key is refused on that day, in Lagos', async () => {
      const key = newId()
      const lastMsOfDay = Date.UTC(2026, 10, 17, 22, 59, 59, 999)
      const ask = (person: string, at: number) => guess(person, key, { isWrong: false, maxPeople: 2 }, at)
      const [one, two, three] = [newId(), newId(), newId()]
      expect(await ask(one, lastMsOfDay)).toBe('written')
      expect(await ask(one, lastMsOfDay)).toBe('written')
      expect(await ask(two, lastMsOfDay)).toBe('written')
      expect(await ask(three, lastMsOfDay)).toBe('quota_exceeded')
      expect(await ask(one, lastMsOfDay)).toBe('written')
      expect(await guess(three, newId(), { maxPeople: 1 }, lastMsOfDay)).toBe('written')
      expect(await ask(three, lastMsOfDay + 1)).toBe('written')
      const day = Math.floor((lastMsOfDay + 60 * MINUTE_MS) / DAY_MS)
      expect(await Promise.all([day, day + 1].map((each) => store.guesses.countPeople(key, each)))).toEqual([
        2, 1,
      ])
    })

    it('of which another of the same commit is refused is not written, nor are its people', async () => {
      const [person, key, blocked] = [newId(), newId(), newId()]
      for (let each = 0; each < 5; each++) await guess(blocked, key)
      expect((await append([toGuess(person, 'other'), toGuess(blocked, key)])).refused).toEqual([
        [1, 'too_many_attempts'],
      ])
      expect(await query('SELECT * FROM attempts WHERE subject = $1', toBytes(person))).toEqual([])
      expect(await query('SELECT * FROM key_subjects WHERE key_id = $1', 'other')).toEqual([])
    })

    it('counts as wrong until it is settled: then it is withdrawn or kept', async () => {
      const [person, key] = [newId(), newId()]
      for (const id of ['a', 'b', 'c']) await guess(person, key, { id })
      const ids = async () =>
        (
          await query('SELECT id FROM attempts WHERE subject = $1 ORDER BY id NULLS FIRST', toBytes(person))
        ).map(({ id }) => id)
      const settle = (subject: string, id: string, isFailed: boolean) =>
        commit({ settled: { subject: toHex(subject), id, isFailed } })
      await settle(newId(), 'a', false)
      await settle(newId(), 'a', true)
      expect(await ids()).toEqual(['a', 'b', 'c'])
      await settle(person, 'a', false)
      expect(await ids()).toEqual(['b', 'c'])
      await settle(person, 'b', true)
      expect(await ids()).toEqual([null, 'c'])
      await settle(person, 'b', false)
      expect(await ids()).toEqual([null, 'c'])
      // An operator unlocks the number: what is under way stays.
      expect(await store.guesses.unlock(toBytes(person))).toBe(1)
      expect(await ids()).toEqual(['c'])
      await store.guesses.withdraw(toBytes(newId()), 'c')
      await store.guesses.confirm(toBytes(newId()), 'c')
      await store.guesses.confirm(toBytes(person), 'b')
      expect(await ids()).toEqual(['c'])
      await store.guesses.confirm(toBytes(person), 'c')
      expect(await ids()).toEqual([null])
    })

    it('is asked about before it is made, with the same answer', async () => {
      const [person, key] = [newId(), newId()]
      const asked = (at: number, maxPeople = 1, keyId = key) =>
        store.guesses.check({
          ...{
            subject: toBytes(person),
            keyId,
            maxPeople,
            at,
            since: at - DAY_MS,
            day: 5,
            maxByKey: 2,
            maxByAll: 3,
          },
        })
      expect(await asked(NOW, 0)).toBe('quota_exceeded')
      expect(await asked(NOW, 1)).toBe('admitted')
      await guess(person, key)
      expect(await asked(NOW)).toBe('admitted')
      await guess(person, key)
      expect(await asked(NOW)).toBe('too_many_attempts')
      expect(await asked(NOW, 1, newId())).toBe('admitted')
      await guess(person, newId())
      expect(await asked(NOW, 1, newId())).toBe('too_many_attempts')
      expect(await asked(NOW + DAY_MS)).toBe('admitted')
    })

    it('is deleted when it no longer counts, and so are the people of past days', async () => {
      const key = newId()
      await guess(newId(), key, {}, 1000)
      const day = (at: number) => Math.floor((at + 60 * MINUTE_MS) / DAY_MS)
      const left = async () => [
        (await query('SELECT * FROM attempts WHERE key_id = $1', key)).length,
        (await query('SELECT * FROM key_subjects WHERE key_id = $1', key)).length,
        await store.guesses.countPeople(key, day(1000)),
      ]
      await store.guesses.deleteExpired(1000, day(1000))
      expect(await left()).toEqual([1, 1, 1])
      expect(await store.guesses.deleteExpired(1001, day(1000))).toBe(1)
      expect(await left()).toEqual([0, 1, 1])
      expect(await store.guesses.deleteExpired(1001, day(1000) + 1)).toBe(1)
      expect(await left()).toEqual([0, 0, 0])
      await guess(newId(), key, { id: 'dead:1' })
      await guess(newId(), key, { id: 'alive:1' })
      await store.guesses.withdrawAll('dead:')
      expect(await query('SELECT id FROM attempts WHERE key_id = $1', key)).toEqual([{ id: 'alive:1' }])
    })
  })

  /** A claim of an Idempotency-Key. */
  const toClaim = (name: string, change = {}) => ({
    ...{
      keyId: 'key',
      operation: 'verify_nin',
      name: toBytes(name),
      owner: 'node:1',
      fingerprint: toBytes('request'),
    },
    ...{ subject: null, leaseMs: 1000, expiresAt: NOW + DAY_MS, ...change },
  })
  const readRow = async (name: string) => {
    const [row] = await query('SELECT * FROM idempotency WHERE name = $1', toBytes(name))
    if (!row) return undefined
    const toText = (bytes: unknown) => (bytes === null ? null : String(Buffer.from(bytes as Uint8Array)))
    const sealed = toText(row.sealed)
    return { ...row, paid_calls: Number(row.paid_calls), sealed, subject: toText(row.subject) }
  }
  const toId = (name: string, owner = 'node:1') => ({
    keyId: 'key',
    operation: 'verify_nin',
    name: toBytes(name),
    owner,
  })

  describe('the claim of an Idempotency-Key', () => {
    const claim = (name: string, change = {}, now = NOW) =>
      store.idempotency.claim({ ...toClaim(name, change), now })
    const done = (name: string, owner = 'node:1', expiresAt = NOW + DAY_MS) =>
      append([{ completion: { claim: toId(name, owner), sealed: Buffer.from('answer'), expiresAt } }])

    it('is held by one request until its lease ends, and then by the next', async () => {
      const name = newId()
      expect(await claim(name)).toEqual({ state: 'claimed', paidCalls: 0, lastFailure: null })
      expect(await readRow(name)).toMatchObject({ owner: 'node:1', lease_until: NOW + 1000, sealed: null })
      expect(await claim(name, { owner: 'node:2' }, NOW + 999)).toEqual({ state: 'running', owner: 'node:1' })
      expect(await claim(name, { owner: 'node:2' }, NOW + 1000)).toMatchObject({ state: 'claimed' })
      expect(await readRow(name)).toMatchObject({ owner: 'node:2', lease_until: NOW + 2000 })
      expect(await store.idempotency.isHeld(toId(name))).toBe(false)
      expect(await store.idempotency.isHeld(toId(name, 'node:2'))).toBe(true)
    })

    it('is taken over if its lease ends far too late: a clock was ahead', async () => {
      const name = newId()
      await claim(name, {}, NOW + 600_000)
      expect(await claim(name, { owner: 'node:2' }, NOW)).toMatchObject({ state: 'running' })
      expect(await claim(name, { owner: 'node:2' }, NOW - 1)).toMatchObject({ state: 'claimed' })
    })

    it('gives the response afterwards, and refuses another request', async () => {
      const name = newId()
      await claim(name)
      expect(await claim(name, { fingerprint: toBytes('another') })).toEqual({ state: 'reused' })
      expect((await done(name, 'node:2')).late).toEqual([0])
      expect((await done(name)).late).toEqual([])
      expect(await claim(name, {}, NOW + DAY_MS - 1)).toMatchObject({ state: 'done' })
      expect(await claim(name, { fingerprint: toBytes('another') })).toEqual({ state: 'reused' })
      expect(await store.idempotency.isHeld(toId(name))).toBe(false)
      expect(await claim(name, { keyId: 'other' })).toMatchObject({ state: 'claimed' })
      expect(await claim(name, { operation: 'verify_bvn' })).toMatchObject({ state: 'claimed' })
      // It expires, and is free.
      expect(await claim(name, { owner: 'node:3' }, NOW + DAY_MS)).toMatchObject({ state: 'claimed' })
    })

    it('keeps its row after the expiry while the request runs', async () => {
      const name = newId()
      await claim(name, { expiresAt: NOW + 10 })
      expect(await claim(name, { owner: 'node:2' }, NOW + 999)).toMatchObject({ state: 'running' })
      const count = async () =>
        (await query('SELECT 1 FROM idempotency WHERE name = $1', toBytes(name))).length
      await store.idempotency.deleteExpired(NOW + 999)
      expect(await count()).toBe(1)
      await store.idempotency.deleteExpired(NOW + 1000)
      expect(await count()).toBe(0)
      await claim(name)
      await done(name, 'node:1', NOW + 10)
      await store.idempotency.deleteExpired(NOW + 9)
      expect(await count()).toBe(1)
      await store.idempotency.deleteExpired(NOW + 10)
      expect(await count()).toBe(0)
    })

    it('ends without a response: it is free, or keeps its paid calls and its last failure', async () => {
      const name = newId()
      await claim(name)
      await store.idempotency.release(toId(name, 'node:2'), 'x')
      expect(await store.idempotency.isHeld(toId(name))).toBe(true)
      await store.idempotency.release(toId(name), 'x')
      expect(await readRow(name)).toBeUndefined()
      await append([{ claim: { ...toClaim(name), paidCalls: 1 } }])
      await store.idempotency.release(toId(name), 'source_timeout')
      expect(await readRow(name)).toMatchObject({
        lease_until: 0,
        paid_calls: 1,
        last_failure: 'source_timeout',
      })
      expect(await claim(name)).toEqual({ state: 'claimed', paidCalls: 1, lastFailure: 'source_timeout' })
      await store.idempotency.release(toId(name), null)
      expect(await readRow(name)).toMatchObject({ lease_until: 0, last_failure: 'source_timeout' })
    })

    it('in a commit is refused if there is a row, and written with its lease and its paid calls', async () => {
      const name = newId()
      const first = { claim: { ...toClaim(name), paidCalls: 1 } }
      expect(await commit(first)).toBe('written')
      expect(await readRow(name)).toMatchObject({
        ...{
          owner: 'node:1',
          lease_until: NOW + 1000,
          expires_at: NOW + DAY_MS,
          paid_calls: 1,
          sealed: null,
        },
      })
      const free = newId()
      expect((await append([{ claim: { ...toClaim(free), paidCalls: 1 } }, first])).refused).toEqual([
        [1, 'claimed'],
      ])
      expect(await readRow(free)).toBeUndefined()
      expect(await readRow(name)).toMatchObject({ owner: 'node:1' })
    })

    it('that ends in a commit is free, or keeps what was billed', async () => {
      const release = (name: string, refunded: number, failure: string | null, owner = 'node:1') =>
        append([{ release: { claim: toId(name, owner), refunded, failure } }])
      const [one, two] = [newId(), newId()]
      await append([
        { claim: { ...toClaim(one), paidCalls: 2 } },
        { claim: { ...toClaim(two), paidCalls: 2 } },
      ])
      await release(one, 2, 'x', 'node:2')
      await release(one, 1, 'x')
      expect(await readRow(one)).toMatchObject({ paid_calls: 1, lease_until: 0, last_failure: 'x' })
      await release(one, 0, null)
      expect(await readRow(one)).toMatchObject({ paid_calls: 1, last_failure: 'x' })
      await release(two, 2, null)
      expect(await readRow(two)).toBeUndefined()
    })

    it('is completed by its owner, with the person whom only the response names', async () => {
      const [one, two] = [newId(), newId()]
      await claim(one, { subject: toBytes('asked') })
      await claim(two, { subject: toBytes('asked') })
      const completion = (name: string, owner: string, subject?: Uint8Array) => ({
        completion: { claim: toId(name, owner), sealed: Buffer.from(name), expiresAt: NOW + 5, subject },
      })
      const { late } = await append([
        completion(one, 'node:2'),
        completion(one, 'node:1'),
        completion(two, 'node:1', toBytes('found')),
      ])
      expect(late).toEqual([0])
      expect(await readRow(one)).toMatchObject({
        sealed: one,
        expires_at: NOW + 5,
        subject: String(toBytes('asked')),
      })
      expect(await readRow(two)).toMatchObject({ sealed: two, subject: String(toBytes('found')) })
    })
  })

  describe('a paid call', () => {
    const pay = (
      name: string,
      change: { owner?: string; most?: number; refunded?: number; expiresAt?: number } = {},
    ) => {
      const { owner = 'node:1', most = 2, refunded = 0, expiresAt = NOW } = change
      return commit({ payment: { payer: toId(name, owner), most, refunded, expiresAt } })
    }

    it('is counted under its claim, within the budget', async () => {
      const name = newId()
      expect(await pay(name)).toBe('paid_calls')
      await store.idempotency.claim({ ...toClaim(name), now: NOW })
      expect(await pay(name, { owner: 'node:2' })).toBe('paid_calls')
      expect(await pay(name)).toBe('written')
      expect(await readRow(name)).toMatchObject({ paid_calls: 1, expires_at: NOW + DAY_MS })
      expect(await pay(name, { expiresAt: NOW + DAY_MS + 1 })).toBe('written')
      expect(await readRow(name)).toMatchObject({ paid_calls: 2, expires_at: NOW + DAY_MS + 1 })
      expect(await pay(name)).toBe('paid_calls')
      expect(await pay(name, { refunded: 1 })).toBe('written')
      expect(await readRow(name)).toMatchObject({ paid_calls: 2 })
      expect(await pay(name, { most: 3 })).toBe('written')
    })

    it('of a verification in the queue is counted within its budget, also if another one of the commit is refused', async () => {
      const reference = newId()
      const kind = { lane: 'single', mode: 'live', operation: 'verify_nin' } as const
      const about = {
        reference,
        keyId: 'key',
        lineage: reference,
        subject: toBytes('x'),
        question: toBytes('x'),
      }
      const due = { delayMs: -1000, lifeMs: DAY_MS }
      await store.queue.enqueue([{ ...kind, ...about, ...due }], { perKey: 9, all: 1000 }, NOW)
      await store.queue.claim(
        { ...kind, lease: 'node:1', leaseMs: MINUTE_MS, keys: [reference], each: 1 },
        NOW,
      )
      const payBy = (lease: string, most: number, refunded = 0) => ({
        payment: { payer: { reference, lease }, most, refunded, expiresAt: NOW },
      })
      const nobody = { payment: { payer: toId(newId()), most: 2, refunded: 0, expiresAt: NOW } }
      expect(await commit(payBy('node:2', 1))).toBe('paid_calls')
      expect((await append([payBy('node:1', 1), nobody])).refused).toEqual([[1, 'paid_calls']])
      expect(await commit(payBy('node:1', 1))).toBe('written')
      expect(await commit(payBy('node:1', 1))).toBe('paid_calls')
      expect((await append([payBy('node:1', 1, 1), nobody])).refused).toEqual([[1, 'paid_calls']])
      expect(await commit(payBy('node:1', 1, 1))).toBe('written')
    })

    it('is not made after the response', async () => {
      const name = newId()
      await store.idempotency.claim({ ...toClaim(name), now: NOW })
      await append([{ completion: { claim: toId(name), sealed: Buffer.from('answer'), expiresAt: NOW } }])
      expect(await pay(name)).toBe('paid_calls')
    })

    it('that was not billed is uncounted once, for its own claim, and never below zero', async () => {
      const name = newId()
      await append([{ claim: { ...toClaim(name), paidCalls: 1 } }])
      const refund = (id: string, owner = 'node:1', change = {}) =>
        store.spend.refund({
          id,
          name: 'acme',
          day: 1,
          node: 'a',
          kobo: 5,
          payer: { ...toId(name, owner), ...change },
        })
      const count = async () => (await readRow(name))?.paid_calls
      await refund(newId(), 'node:2')
      await refund(newId(), 'node:1', { keyId: 'other' })
      await refund(newId(), 'node:1', { operation: 'verify_bvn' })
      await refund(newId(), 'node:1', { name: toBytes('other') })
      expect(await count()).toBe(1)
      const id = newId()
      expect(await refund(id)).toBe(true)
      expect(await refund(id)).toBe(false)
      expect(await count()).toBe(0)
      await refund(newId())
      expect(await count()).toBe(0)
    })
  })

  describe('money', () => {
    const toSpending = (name: string, change: Partial<Spending> = {}): Spending => ({
      ...{ name, day: 7, node: 'one', calls: 1, kobo: 10, isCapped: true },
      ...change,
    })
    const lease = (name: string, capKobo: number | null) =>
      store.spend.lease({ name, day: 7, node: 'one', kobo: 10, capKobo }, NOW)
    const readShare = async (name: string) =>
      (await query('SELECT calls, kobo, leased_kobo FROM spend_shares WHERE name = $1', name))[0]

    it('is spent up to what the node has leased, and not a kobo more', async () => {
      const name = newId()
      expect(await commit({ spending: [toSpending(name)] })).toBe('money_lost')
      expect(await lease(name, 20)).toBe(10)
      expect(await commit({ spending: [toSpending(name, { kobo: 11 })] })).toBe('money_lost')
      expect(await commit({ spending: [toSpending(name, { node: 'two' })] })).toBe('money_lost')
      expect(await commit({ spending: [toSpending(name, { day: 8 })] })).toBe('money_lost')
      expect(await commit({ spending: [toSpending(name)] })).toBe('written')
      expect(await commit({ spending: [toSpending(name, { kobo: 1 })] })).toBe('money_lost')
      expect(await readShare(name)).toEqual({ calls: 1, kobo: 10, leased_kobo: 10 })
      // What is given back needs no lease.
      expect(await commit({ spending: [toSpending(name, { calls: -1 })] })).toBe('written')
      expect(await readShare(name)).toEqual({ calls: 0, kobo: 0, leased_kobo: 10 })
    })

    it('without a cap is counted', async () => {
      const name = newId()
      await lease(name, null)
      expect(await commit({ spending: [toSpending(name, { isCapped: false, kobo: 500 })] })).toBe('written')
      expect(await commit({ spending: [toSpending(name, { kobo: 0 })] })).toBe('written')
      expect(await readShare(name)).toEqual({ calls: 2, kobo: 500, leased_kobo: 0 })
    })

    it('is added up by key and month', async () => {
      const name = newId()
      await lease(name, null)
      const spend = (month: string, id: string, calls: 1 | -1 = 1) =>
        toSpending(name, { isCapped: false, calls, key: { month, id } })
      await append([{ spending: [spend('2026-11', 'a'), spend('2026-11', 'a'), spend('2026-12', 'a')] }])
      await append([
        {
          spending: [spend('2026-11', 'a', -1), spend('2026-11', 'b'), toSpending(name, { isCapped: false })],
        },
      ])
      const rows = await query(
        'SELECT month, key_id, node, calls, kobo FROM key_spend_shares WHERE name = $1 ORDER BY month, key_id',
        name,
      )
      expect(rows).toEqual([
        { month: '2026-11', key_id: 'a', node: 'one', calls: 1, kobo: 10 },
        { month: '2026-11', key_id: 'b', node: 'one', calls: 1, kobo: 10 },
        { month: '2026-12', key_id: 'a', node: 'one', calls: 1, kobo: 10 },
      ])
    })
  })

  describe('a response', () => {
    const toAnswer = (name: string, change: Partial<CheckedAnswer> = {}): CommitParts => ({
      answer: {
        ...{
          keyId: 'key',
          operation: 'verify_nin',
          name: toHex(name),
          fingerprint: toHex('request'),
          subject: toHex('person'),
        },
        ...{
          owner: 'node:1',
          sealed: Buffer.from('first'),
          expiresAt: NOW + 1000,
          record: undefined,
          ...change,
        },
      },
    })
    const later = { sealed: Buffer.from('later'), expiresAt: NOW + 9000 }

    it('is stored once under its key, until it expires', async () => {
      const name = newId()
      expect(await commit(toAnswer(name))).toBe('written')
      expect(await commit(toAnswer(name, later), NOW + 999)).toBe('changed')
      expect(await readRow(name)).toMatchObject({
        sealed: 'first',
        owner: 'node:1',
        lease_until: 0,
        expires_at: NOW + 1000,
      })
      expect(await commit(toAnswer(name, { ...later, owner: 'node:2' }), NOW + 1000)).toBe('written')
      expect(await readRow(name)).toMatchObject({ sealed: 'later', owner: 'node:2', expires_at: NOW + 9000 })
    })

    it('does not take a claim that runs, or that was for another request', async () => {
      const name = newId()
      await store.idempotency.claim({ ...toClaim(name), now: NOW })
      expect(await commit(toAnswer(name), NOW + 999)).toBe('changed')
      expect(await commit(toAnswer(name, { fingerprint: toHex('another') }), NOW + 1000)).toBe('changed')
      expect(await commit(toAnswer(name), NOW + 1000)).toBe('written')
      // After it has expired, as long as it runs.
      const running = newId()
      await store.idempotency.claim({ ...toClaim(running, { expiresAt: NOW + 10 }), now: NOW })
      expect(await commit(toAnswer(running), NOW + 999)).toBe('changed')
      // Of another request, after it has expired.
      const second = newId()
      await store.idempotency.claim({ ...toClaim(second, { expiresAt: NOW + 1000 }), now: NOW })
      expect(await commit(toAnswer(second, { fingerprint: toHex('another') }), NOW + 1000)).toBe('written')
    })

    it('about a record of the registry is stored while the record exists', async () => {
      const [gone, there] = [newId(), newId()]
      const record = [toBytes('registered'), 'nin', 1, toBytes('digest'), toBytes('sealed'), NOW]
      await query('INSERT INTO registry VALUES ($1, $2, $3, $4, $5, $6)', ...record)
      expect(await commit(toAnswer(gone, { record: toHex('erased') }))).toBe('changed')
      expect(await readRow(gone)).toBeUndefined()
      expect(await commit(toAnswer(there, { record: toHex('registered') }))).toBe('written')
      // Also when it takes the place of one that has expired.
      const replaced = { ...later, record: toHex('erased') }
      expect(await commit(toAnswer(there, replaced), NOW + 1000)).toBe('changed')
      expect(await readRow(there)).toMatchObject({ sealed: 'first' })
    })

    it('is not stored if another verification of the commit is refused', async () => {
      const [one, two] = [newId(), newId()]
      await commit(toAnswer(two))
      expect((await append([toAnswer(one), toAnswer(two)])).refused).toEqual([[1, 'changed']])
      expect(await readRow(one)).toBeUndefined()
      expect(await readRow(two)).toMatchObject({ sealed: 'first' })
    })
  })

  describe('a result that may be reused', () => {
    const keep = (subject: string, text: string, expiresAt: number, at = NOW) =>
      append([{ kept: { subject: toBytes(subject), sealed: Buffer.from(text), expiresAt } }], at)
    const read = async (subject: string) => {
      const [row] = await query(
        'SELECT sealed, expires_at FROM reused_results WHERE subject = $1',
        toBytes(subject),
      )
      return row && [String(Buffer.from(row.sealed as Uint8Array)), Number(row.expires_at) - NOW]
    }

    it('replaces the one before', async () => {
      const subject = newId()
      await keep(subject, 'first', NOW + 5)
      await keep(subject, 'second', NOW + 3)
      expect(await read(subject)).toEqual(['second', 3])
    })

    it('is not stored after an erasure, until the mark of the erasure expires', async () => {
      const subject = newId()
      await keep(subject, '', NOW + 10)
      await keep(subject, 'again', NOW + 20, NOW + 9)
      expect(await read(subject)).toEqual(['', 10])
      await keep(subject, 'again', NOW + 20, NOW + 10)
      expect(await read(subject)).toEqual(['again', 20])
    })
  })
})
