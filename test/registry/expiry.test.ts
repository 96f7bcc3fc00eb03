import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { withProcessLock } from '../../src/database/process-lock.ts'
import { deleteExpiredRecords, EXPIRY_LOCK } from '../../src/registry/delete-expired-records.ts'
import type { SealedRecord } from '../../src/registry/sealed-entry.ts'
import { describeEngines, ENGINES } from '../engines.ts'

const NOW = Date.UTC(2026, 10, 16)

const createRecord = (kind: SealedRecord['kind'] = 'nin'): SealedRecord => ({
  subject: randomBytes(32),
  kind,
  keyVersion: 1,
  digest: randomBytes(32),
  sealed: randomBytes(64),
})

describeEngines(ENGINES, (engine) => {
  async function openPlace(): Promise<Store> {
    const store = await (await engine.createPlace()).open()
    onTestFinished(() => store.close())
    return store
  }
  const save = (store: Store, records: readonly SealedRecord[], at: number) =>
    store.registry.save({ records, media: [], at })
  const expire = async (store: Store, before: number) => {
    const details: unknown[] = []
    const audit = {
      record: async (entries: readonly { detail?: string | null }[]) => void details.push(entries[0]?.detail),
    }
    return { erased: await deleteExpiredRecords(before, { store, audit }), details }
  }
  const countLeft = async (store: Store, records: readonly SealedRecord[]) => {
    const found = await Promise.all(records.map(({ subject }) => store.registry.find(subject)))
    return found.filter((row) => row !== undefined).length
  }

  it('erases the records that no import has contained for long, with their pictures, and records their number', async () => {
    const store = await openPlace()
    const old = Array.from({ length: 1203 }, () => createRecord())
    const pictured = createRecord()
    const fresh = [createRecord(), createRecord()]
    const decoy = createRecord('decoy' as SealedRecord['kind'])
    const id = randomBytes(32)
    const picture = { id, subject: pictured.subject, keyVersion: 1, sealed: randomBytes(10) }
    await save(store, old, NOW - 400 * DAY_MS)
    await store.registry.save({ records: [pictured], media: [picture], at: NOW - 400 * DAY_MS })
    await save(store, [decoy], NOW - 400 * DAY_MS)
    await save(store, fresh, NOW - 100 * DAY_MS)
    const { erased, details } = await expire(store, NOW - 365 * DAY_MS)
    expect(erased).toBe(1204)
    expect(details).toEqual([
      '1204 records not refreshed since 2025-11-16T00:00:00.000Z; by TABBAT_RECORDS_KEEP',
    ])
    expect(await countLeft(store, old)).toBe(0)
    expect(await store.registry.findMedia(id)).toBe(undefined)
    expect(await countLeft(store, [...fresh, decoy])).toBe(3)
    expect(await expire(store, NOW - 365 * DAY_MS)).toEqual({ erased: 0, details: [] })
  })

  it('writes an audit row for each portion, so that no statement counts all records that are due', async () => {
    const store = await openPlace()
    for (let saved = 0; saved < 7000; saved += 1000)
      await save(
        store,
        Array.from({ length: 1000 }, () => createRecord()),
        NOW - 400 * DAY_MS + saved,
      )
    expect(await store.registry.countOld(NOW, 1)).toBe(1)
    const { erased, details } = await expire(store, NOW - 365 * DAY_MS)
    expect(erased).toBe(7000)
    expect(details.map((detail) => String(detail).split(' ')[0])).toEqual(['5000', '2000'])
    expect(await store.registry.countOld(NOW, 1)).toBe(0)
  })

  it('erases no further portion after a stop', async () => {
    const store = await openPlace()
    await save(
      store,
      Array.from({ length: 1000 }, () => createRecord()),
      NOW - 400 * DAY_MS,
    )
    let asked = 0
    const audit = { record: async () => {} }
    const isStopped = () => ++asked > 2
    expect(await deleteExpiredRecords(NOW, { store, audit, isStopped })).toBe(500)
    expect(await store.registry.countOld(NOW, 1000)).toBe(500)
  })

  it('keeps unchanged records that a later import contained', async () => {
    const store = await openPlace()
    const records = Array.from({ length: 300 }, () => createRecord())
    await save(store, records, NOW - 400 * DAY_MS)
    expect(await save(store, records.slice(0, 150), NOW - 10 * DAY_MS)).toBe(0)
    expect((await expire(store, NOW - 365 * DAY_MS)).erased).toBe(150)
    expect(await countLeft(store, records.slice(0, 150))).toBe(150)
  })

  it('keeps records of an import that came less than a day after the one before', async () => {
    const store = await openPlace()
    const records = [createRecord(), createRecord()]
    await save(store, records, NOW - 2 * DAY_MS)
    expect(await save(store, records, NOW - DAY_MS - 1000)).toBe(0)
    expect((await expire(store, NOW - DAY_MS - 60_000)).erased).toBe(0)
    expect(await countLeft(store, records)).toBe(2)
    expect((await expire(store, NOW)).erased).toBe(2)
  })

  it('is done by one process at a time', async () => {
    const store = await openPlace()
    await withProcessLock(store, EXPIRY_LOCK, async () => {
      await expect(expire(store, NOW)).rejects.toThrow(EXPIRY_LOCK.refusal)
    })
  })
})
