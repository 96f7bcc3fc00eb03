import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { KeyRow } from '../../src/keys/key-table.ts'
import { withDefaults } from '../../src/keys/options.ts'
import type { Guess } from '../../src/ledger/guess-table.ts'
import type { SealedMedia, SealedRecord } from '../../src/registry/sealed-entry.ts'
import { describeEngines, ENGINES, type Engine } from '../engines.ts'
import { admitGuess } from '../ledger/commit-parts.ts'
import { toGuess } from '../ledger/guess.ts'
import { toErasureSubject } from '../people/erasure-subject.ts'

/** Larger than 32 bits, as times are. */
const NOW = 1_790_000_000_123

const newSubject = () => randomBytes(32)
const newId = () => randomBytes(6).toString('base64url')
const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('hex')

const toKey = (values: Partial<KeyRow> = {}): KeyRow => ({
  ...withDefaults({}),
  id: newId(),
  mode: 'live',
  name: 'Shop ₦ "one", two',
  hash: randomBytes(32),
  scopes: ['kyc:nin', 'kyc:bvn'],
  allowedIps: ['10.0.0.1', '10.1.0.0/16'],
  clientCerts: ['sha256:aa', 'sha256:bb'],
  createdAt: NOW,
  expiresAt: NOW + DAY_MS,
  lifetimeMs: 2 ** 33,
  revokedAt: undefined,
  rolledTo: undefined,
  lineage: 'first0id',
  hide: ['religion'],
  reveal: ['next_of_kin'],
  requiresConsent: true,
  asyncWhenDown: true,
  requireMatch: 'both',
  subjectsPerDay: 2 ** 31 + 5,
  ...values,
})

const toRecord = (values: Partial<SealedRecord> = {}): SealedRecord => ({
  kind: 'nin',
  subject: newSubject(),
  keyVersion: 1,
  digest: randomBytes(32),
  sealed: randomBytes(900),
  ...values,
})

const toPicture = (subject: Uint8Array, values: Partial<SealedMedia> = {}): SealedMedia => ({
  id: randomBytes(16),
  subject,
  keyVersion: 1,
  sealed: randomBytes(2000),
  ...values,
})

/** The bytes of a key read from a database may be of another class than those written. */
const plain = (key: KeyRow | undefined) => key && { ...key, hash: hex(key.hash) }

describeEngines(ENGINES, (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterAll(() => store.close())

  describe('keys', () => {
    it('are found as they were inserted', async () => {
      const full = toKey()
      const bare = toKey({ ...withDefaults({}), expiresAt: undefined })
      await Promise.all([store.keys.insert(full), store.keys.insert(bare)])
      expect(plain(await store.keys.find(full.id))).toEqual(plain(full))
      expect(plain(await store.keys.find(bare.id))).toEqual(plain(bare))
      expect(await store.keys.find('unknown')).toBeUndefined()
    })

    it('are listed in the order of creation', async () => {
      const later = toKey({ createdAt: NOW + 2 })
      const earlier = toKey({ createdAt: NOW - 2 })
      await store.keys.insert(later)
      await store.keys.insert(earlier)
      const ids = (await store.keys.list()).map(({ id }) => id)
      expect(ids.indexOf(earlier.id)).toBeLessThan(ids.indexOf(later.id))
    })

    it('have unique ids', async () => {
      const key = toKey()
      await store.keys.insert(key)
      await expect(store.keys.insert(toKey({ id: key.id, name: 'other' }))).rejects.toThrow()
      expect((await store.keys.find(key.id))?.name).toBe(key.name)
    })

    it('are changed if they are still as they were read', async () => {
      const key = toKey({ owner: 'payments', note: 'for the till' })
      await store.keys.insert(key)
      const before = (await store.keys.find(key.id)) as KeyRow
      const [one, two] = [
        { ...before, name: 'one', allowedIps: undefined, note: undefined },
        { ...before, name: 'two', subjectsPerDay: 5 },
      ]
      const done = await Promise.all([store.keys.change(before, one), store.keys.change(before, two)])
      expect(done.toSorted()).toEqual([false, true])
      expect(plain(await store.keys.find(key.id))).toEqual(plain(done[0] ? one : two))
    })

    it('that were revoked meanwhile are not changed', async () => {
      const { id } = toKey()
      await store.keys.insert(toKey({ id }))
      const before = (await store.keys.find(id)) as KeyRow
      await store.keys.revoke(id, NOW)
      expect(await store.keys.change(before, { ...before, name: 'other' })).toBe(false)
      expect(await store.keys.find(id)).toMatchObject({ revokedAt: NOW, name: before.name })
    })

    it('are revoked once', async () => {
      const { id } = toKey()
      await store.keys.insert(toKey({ id }))
      expect(await Promise.all([store.keys.revoke(id, NOW), store.keys.revoke(id, NOW)])).toContain(false)
      expect(await store.keys.revoke(id, NOW + 5)).toBe(false)
      expect((await store.keys.find(id))?.revokedAt).toBe(NOW)
      expect(await store.keys.revoke('unknown', NOW)).toBe(false)
    })

    const insertKey = async (row: KeyRow): Promise<KeyRow> => {
      await store.keys.insert(row)
      return (await store.keys.find(row.id)) as KeyRow
    }

    it('are rolled once, in one transaction with their successor', async () => {
      const old = toKey({ expiresAt: undefined })
      const [first, second] = [toKey(), toKey()]
      const before = await insertKey(old)
      const rolls = await Promise.allSettled([
        store.keys.roll(before, first, NOW + 10),
        store.keys.roll(before, second, NOW + 10),
      ])
      const winner = rolls[0]?.status === 'fulfilled' ? first : second
      expect(rolls.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      expect(await store.keys.find(old.id)).toMatchObject({ rolledTo: winner.id, expiresAt: NOW + 10 })
      const successors = await Promise.all([store.keys.find(first.id), store.keys.find(second.id)])
      expect(successors.filter((key) => key !== undefined).map(({ id }) => id)).toEqual([winner.id])
    })

    it('stay as they were when the successor cannot be inserted', async () => {
      const old = toKey()
      const before = await insertKey(old)
      await expect(store.keys.roll(before, toKey({ id: old.id }), NOW)).rejects.toThrow()
      expect(plain(await store.keys.find(old.id))).toEqual(plain(old))
    })

    it('never expire later after they were rolled', async () => {
      const old = toKey({ expiresAt: NOW + 5 })
      await store.keys.roll(await insertKey(old), toKey(), NOW + 10)
      expect((await store.keys.find(old.id))?.expiresAt).toBe(NOW + 5)
    })

    it('are not rolled after a change that the successor does not have', async () => {
      const before = await insertKey(toKey({ expiresAt: undefined }))
      const successor = toKey()
      await store.keys.change(before, { ...before, allowedIps: ['203.0.113.7'] })
      await expect(store.keys.roll(before, successor, NOW)).rejects.toThrow(/nothing was changed/)
      expect(await store.keys.find(successor.id)).toBeUndefined()
      expect(await store.keys.find(before.id)).toMatchObject({ rolledTo: undefined, expiresAt: undefined })
    })

    it('an unknown key cannot be rolled, and no successor is stored', async () => {
      const successor = toKey()
      await expect(store.keys.roll(toKey({ id: 'unknown' }), successor, NOW)).rejects.toThrow(
        /nothing was changed/,
      )
      expect(await store.keys.find(successor.id)).toBeUndefined()
    })
  })

  describe('metadata of the database', () => {
    it('keep the value of the first writer', async () => {
      const values = Array.from({ length: 20 }, (_, index) => String(index))
      await Promise.all(values.map((value) => store.meta.insert('root_fingerprint', value)))
      const first = (await store.meta.read()).root_fingerprint
      expect(values).toContain(first)
      await store.meta.insert('root_fingerprint', 'later')
      expect((await store.meta.read()).root_fingerprint).toBe(first)
    })

    it('are set and removed in one commit', async () => {
      await store.meta.set({ root_previous_fingerprint: 'b', carried_keys: 'c' })
      await store.meta.set({ root_fingerprint: 'a', root_previous_fingerprint: undefined })
      expect(await store.meta.read()).toEqual({ root_fingerprint: 'a', carried_keys: 'c' })
    })

    it('are set in one transaction', async () => {
      await store.meta.set({ root_fingerprint: 'before' })
      const bad = { root_fingerprint: 'after', carried_keys: null } as unknown as { carried_keys: string }
      await expect(store.meta.set(bad)).rejects.toThrow()
      expect((await store.meta.read()).root_fingerprint).toBe('before')
    })

    it('can be set concurrently', async () => {
      const sets = Array.from({ length: 20 }, (_, index) => String(index))
      await Promise.all(sets.map((value) => store.meta.set({ root_fingerprint: value, carried_keys: value })))
      const { root_fingerprint, carried_keys } = await store.meta.read()
      expect(root_fingerprint).toBe(carried_keys)
    })
  })

  describeRegistry(engine)
  describeGuesses(() => store)
})

function describeRegistry(engine: Engine): void {
  describe('the registry', () => {
    let store: Store
    beforeAll(async () => {
      store = await (await engine.createPlace()).open()
    })
    afterAll(() => store.close())

    const save = (
      records: SealedRecord[],
      media: SealedMedia[] = [],
      progress?: { id: string; state: string },
    ) => store.registry.save({ records, media, at: NOW, ...(progress && { progress }) })

    it('is empty at first, for each kind', async () => {
      expect(await store.registry.isEmpty('nin')).toBe(true)
      expect(await store.registry.count()).toEqual([])
      await save([toRecord({ kind: 'bvn' })])
      expect([await store.registry.isEmpty('nin'), await store.registry.isEmpty('bvn')]).toEqual([
        true,
        false,
      ])
      await save([toRecord(), toRecord()])
      expect(await store.registry.count()).toEqual([
        { kind: 'bvn', keyVersion: 1, records: 1 },
        { kind: 'nin', keyVersion: 1, records: 2 },
      ])
      expect(await save([])).toBe(0)
    })

    it('saves new, changed, unchanged and repeated records in one large batch', async () => {
      const old = Array.from({ length: 150 }, () => toRecord())
      expect(await save(old)).toBe(150)
      const changed = old
        .slice(0, 30)
        .map((each) => ({ ...each, digest: randomBytes(32), sealed: randomBytes(500) }))
      const fresh = Array.from({ length: 230 }, () => toRecord())
      const repeated = fresh.slice(0, 5).map((each) => ({ ...each, sealed: randomBytes(400) }))
      expect(await save([...fresh, ...old.slice(30), ...changed, ...repeated])).toBe(260)
      for (const { subject, sealed } of [...repeated, ...fresh.slice(5), ...changed, ...old.slice(30)])
        expect(hex((await store.registry.find(subject))?.sealed)).toBe(hex(sealed))
    })

    it('counts new and changed records, and does not write unchanged ones', async () => {
      const [one, two, three] = [toRecord(), toRecord(), toRecord()]
      expect(await save([one, two])).toBe(2)
      const again = { ...one, sealed: randomBytes(900) }
      const changed = { ...two, digest: randomBytes(32), sealed: randomBytes(700) }
      expect(await save([again, changed, three])).toBe(2)
      expect(hex((await store.registry.find(one.subject))?.sealed)).toBe(hex(one.sealed))
      expect(hex((await store.registry.find(two.subject))?.sealed)).toBe(hex(changed.sealed))
      expect(await save([again, changed, three])).toBe(0)
    })

    it('keeps the last of two rows of one person, and counts one', async () => {
      const first = toRecord()
      const last = toRecord({ subject: first.subject })
      expect(await save([first, toRecord(), last])).toBe(2)
      expect(hex((await store.registry.find(first.subject))?.sealed)).toBe(hex(last.sealed))
      expect(await save([first, last])).toBe(0)
    })

    it('saves both kinds in one batch', async () => {
      const before = await store.registry.count()
      expect(await save([toRecord({ kind: 'nin' }), toRecord({ kind: 'bvn' })])).toBe(2)
      const more = (await store.registry.count()).map(({ kind, records }) => [
        kind,
        records - (before.find((row) => row.kind === kind)?.records ?? 0),
      ])
      expect(more).toEqual([
        ['bvn', 1],
        ['nin', 1],
      ])
    })

    it('returns every byte, of 1 MiB and of empty values', async () => {
      const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
      const values = [
        everyByte,
        Buffer.alloc(64),
        randomBytes(1024 * 1024),
        Buffer.from([0]),
        Buffer.alloc(0),
      ]
      const records = values.map((sealed) => toRecord({ sealed }))
      await save(records)
      const found = await Promise.all(records.map(({ subject }) => store.registry.find(subject)))
      expect(found.map((row) => hex(row?.sealed))).toEqual(values.map(hex))
      expect(found[0]).toMatchObject({ keyVersion: 1 })
    })

    it('finds by the whole subject, including NUL bytes', async () => {
      const subject = Buffer.alloc(32)
      const [zeros, ones] = [toRecord({ subject }), toRecord({ subject: Buffer.alloc(32, 0xff) })]
      await save([zeros, ones])
      expect(hex((await store.registry.find(subject))?.sealed)).toBe(hex(zeros.sealed))
      expect(await store.registry.find(newSubject())).toBeUndefined()
      expect(await store.registry.find(subject.subarray(0, 31))).toBeUndefined()
    })

    it('erases a record with its picture', async () => {
      const [record, other] = [toRecord(), toRecord()]
      const [picture, kept] = [toPicture(record.subject), toPicture(other.subject)]
      const before = await store.registry.countMedia()
      await save([record, other], [picture, kept])
      expect(await store.registry.countMedia()).toBe(before + 2)
      const found = await store.registry.findMedia(picture.id)
      expect([hex(found?.subject), found?.keyVersion, hex(found?.sealed)]).toEqual([
        hex(record.subject),
        1,
        hex(picture.sealed),
      ])
      const { subject } = record
      expect(await store.erasure.erase(toErasureSubject(subject), NOW)).toMatchObject({
        records: 1,
        pictures: 1,
      })
      expect(await store.registry.find(record.subject)).toBeUndefined()
      expect(await store.registry.findMedia(picture.id)).toBeUndefined()
      expect(await store.registry.findMedia(kept.id)).toBeDefined()
      expect(await store.erasure.erase(toErasureSubject(subject), NOW)).toMatchObject({
        records: 0,
        pictures: 0,
      })
    })

    it('keeps the picture of an unchanged record, and only the last one of a changed record', async () => {
      const record = toRecord()
      const [first, second, third] = [0, 1, 2].map(() => toPicture(record.subject)) as [
        SealedMedia,
        SealedMedia,
        SealedMedia,
      ]
      await save([record], [first])
      expect(await save([{ ...record, sealed: randomBytes(9) }], [second])).toBe(0)
      expect(await store.registry.findMedia(first.id)).toBeDefined()
      expect(await store.registry.findMedia(second.id)).toBeUndefined()
      expect(await save([{ ...record, digest: randomBytes(32) }], [third])).toBe(1)
      expect(await store.registry.findMedia(first.id)).toBeUndefined()
      expect(await store.registry.findMedia(third.id)).toBeDefined()
      expect(await save([{ ...record, digest: randomBytes(32) }])).toBe(1)
      expect(await store.registry.findMedia(third.id)).toBeUndefined()
    })

    it('stores the progress of an import until it is finished', async () => {
      const id = newId()
      expect(await store.registry.importProgress(id)).toBeUndefined()
      await save([toRecord()], [], { id, state: '{"line":1}' })
      await save([], [], { id, state: '{"line":2}' })
      expect(await store.registry.importProgress(id)).toBe('{"line":2}')
      await store.registry.finishImport(id)
      expect(await store.registry.importProgress(id)).toBeUndefined()
    })

    it('saves neither records nor progress of a batch that fails', async () => {
      const id = newId()
      const [one, two, plainOne] = [toRecord(), toRecord(), toRecord()]
      const picture = toPicture(one.subject)
      const same = toPicture(two.subject, { id: picture.id })
      await save([], [], { id, state: 'before' })
      await expect(save([plainOne, one, two], [picture, same], { id, state: 'after' })).rejects.toThrow()
      for (const { subject } of [plainOne, one, two])
        expect(await store.registry.find(subject)).toBeUndefined()
      expect(await store.registry.findMedia(picture.id)).toBeUndefined()
      expect(await store.registry.importProgress(id)).toBe('before')
      expect(await save([plainOne], [], { id, state: 'after' })).toBe(1)
    })

    it('saves concurrent batches with the same records in another order', async () => {
      const records = Array.from({ length: 300 }, () => toRecord())
      const batches = Array.from({ length: 6 }, (_, index) =>
        (index % 2 ? records : records.toReversed()).map((record) => ({
          ...record,
          digest: randomBytes(32),
        })),
      )
      await Promise.all(batches.map((batch) => save(batch)))
      expect(await store.registry.find((records[0] as SealedRecord).subject)).toBeDefined()
    })
  })
}

function describeGuesses(store: () => Store): void {
  const admit = (values: Partial<Guess>) =>
    admitGuess(store(), toGuess({ at: NOW, since: NOW - DAY_MS, ...values }))
  /** How many of these concurrent guesses were admitted. */
  const countAdmitted = async (guesses: readonly Partial<Guess>[]) =>
    (await Promise.all(guesses.map(admit))).filter((answer) => answer === 'admitted').length
  const times = <T>(count: number, work: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => work(index))

  describe('failed matches', () => {
    it('stop exactly at the limit of a key, with 100 concurrent guesses', async () => {
      const [subject, keyId] = [newSubject(), newId()]
      expect(await countAdmitted(times(100, () => ({ subject, keyId })))).toBe(5)
      expect(await admit({ subject, keyId })).toBe('too_many_attempts')
      expect(await admit({ subject })).toBe('admitted')
      expect(await admit({ keyId })).toBe('admitted')
    })

    it('stop exactly at the limit of all keys, with 100 concurrent guesses', async () => {
      const subject = newSubject()
      expect(await countAdmitted(times(100, () => ({ subject })))).toBe(20)
      expect(await admit({ subject })).toBe('too_many_attempts')
    })

    it('leave the window one by one', async () => {
      const [subject, keyId] = [newSubject(), newId()]
      const failAt = (at: number) => admit({ subject, keyId, at, since: at - DAY_MS })
      for (const at of times(5, (index) => NOW + index)) expect(await failAt(at)).toBe('admitted')
      expect(await failAt(NOW + DAY_MS - 1)).toBe('too_many_attempts')
      expect(await failAt(NOW + DAY_MS)).toBe('admitted')
      expect(await failAt(NOW + DAY_MS)).toBe('too_many_attempts')
      expect(await failAt(NOW + DAY_MS + 1)).toBe('admitted')
    })

    it('are withdrawn one by one, or for a whole process, unless they were confirmed', async () => {
      const [subject, keyId] = [newSubject(), newId()]
      const ids = times(5, (index) => `${keyId}/${index}`) as [string, string, ...string[]]
      for (const id of ids) expect(await admit({ id, subject, keyId })).toBe('admitted')
      await store().guesses.withdraw(subject, ids[0])
      expect(await countAdmitted(times(3, () => ({ subject, keyId })))).toBe(1)
      await store().guesses.confirm(subject, ids[1])
      await store().guesses.withdraw(subject, ids[1])
      await store().guesses.withdrawAll(`${keyId}/`)
      expect(await countAdmitted(times(9, () => ({ subject, keyId })))).toBe(3)
    })

    it('are forgotten when a number is unlocked, but for those under way', async () => {
      const [subject, keyId] = [newSubject(), newId()]
      const ids = times(5, (index) => `${keyId}/${index}`)
      for (const id of ids) expect(await admit({ id, subject, keyId })).toBe('admitted')
      for (const id of ids.slice(1)) await store().guesses.confirm(subject, id)
      expect(await admit({ subject, keyId })).toBe('too_many_attempts')
      expect(await store().guesses.unlock(subject)).toBe(4)
      expect(await countAdmitted(times(9, () => ({ subject, keyId })))).toBe(4)
      expect(await store().guesses.unlock(newSubject())).toBe(0)
    })

    it('are deleted when they are old', async () => {
      const [subject, keyId] = [newSubject(), newId()]
      for (const at of [NOW - 2, NOW - 1, NOW]) await admit({ subject, keyId, at })
      await store().guesses.deleteExpired(NOW - 1, 0)
      expect(await countAdmitted(times(9, () => ({ subject, keyId })))).toBe(3)
    })
  })

  describe('subjects of a key', () => {
    it('are admitted exactly up to the limit, with 200 concurrent guesses; a repeated subject does not count', async () => {
      const keyId = newId()
      const guesses = times(200, () => ({ keyId, subject: newSubject(), maxPeople: 50 }))
      const answers = await Promise.all(guesses.map(admit))
      const admitted = guesses.filter((_, index) => answers[index] === 'admitted')
      expect(admitted).toHaveLength(50)
      expect(await countAdmitted(admitted)).toBe(50)
      expect(await admit({ keyId, maxPeople: 50 })).toBe('quota_exceeded')
      expect(await admit({ keyId, maxPeople: 51 })).toBe('admitted')
    })

    it('count once, with 100 concurrent guesses', async () => {
      const guess = { subject: newSubject(), keyId: newId(), maxPeople: 2, maxByKey: 1000, maxByAll: 1000 }
      expect(await countAdmitted(times(100, () => guess))).toBe(100)
      expect(await admit({ ...guess, subject: newSubject() })).toBe('admitted')
      expect(await admit({ ...guess, subject: newSubject() })).toBe('quota_exceeded')
    })

    it('are counted separately for each day and each key', async () => {
      const keyId = newId()
      const guess = (values: Partial<Guess> = {}) => admit({ keyId, maxPeople: 1, ...values })
      expect(await guess()).toBe('admitted')
      expect(await guess()).toBe('quota_exceeded')
      expect(await guess({ day: 20_001 })).toBe('admitted')
      expect(await guess({ keyId: newId() })).toBe('admitted')
      await store().guesses.deleteExpired(0, 20_001)
      expect(await guess()).toBe('admitted')
      expect(await guess({ day: 20_001 })).toBe('quota_exceeded')
    })

    it('that are refused add no failed match', async () => {
      const [subject, keyId] = [newSubject(), newId()]
      for (const _ of times(9, () => 0))
        expect(await admit({ subject, keyId, maxPeople: 0 })).toBe('quota_exceeded')
      expect(await countAdmitted(times(9, () => ({ subject, keyId })))).toBe(5)
    })
  })
}
