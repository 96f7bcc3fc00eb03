import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { SQLITE_WITH_WRITER } from '../engines.ts'

const NOW = Date.now()
const DAYS = { minute: '2026', hour: '2026', day: '2026' }

describe('the main connection of a server on SQLite', () => {
  let store: Store
  beforeAll(async () => {
    store = await (await SQLITE_WITH_WRITER.createPlace()).open()
    await store.refuseWrites()
  })
  afterAll(() => store.close())

  const countChanges = async () =>
    Number((await store.database.prepare('SELECT total_changes() AS changes').get())?.changes)

  it('refuses a statement and a transaction that would write', async () => {
    await expect(store.database.prepare('DELETE FROM meta').run()).rejects.toThrow(/readonly/)
    await expect(store.database.transaction(async () => {})).rejects.toThrow(/readonly/)
  })

  it('changes no row, whatever is cleaned up and written', async () => {
    const before = await countChanges()
    await store.meta.insert('created_at', '1')
    await store.meta.raise('revocations_noted_at', 5)
    await store.reviews.raise({ source: 'a', at: 1, fingerprint: 'f', doubts: ['d'], content: '[]' })
    await store.reviews.withdraw('a', 2)
    const version = { at: 1, origin: 'import', author: 'schedule', content: '[]', digest: '' }
    await store.catalogue.append(0, [version, version, version])
    await store.events.append([])
    for (const cleanUp of [
      () => store.catalogue.deleteExpired({ newest: 0, author: 'schedule', at: NOW }),
      () => store.reviews.deleteExpired(NOW),
      () => store.guesses.deleteExpired(NOW, 1),
      () => store.idempotency.deleteExpired(NOW),
      () => store.sources.deleteExpired({ states: NOW, spendDay: 1, refundDay: 1, month: '2026-01' }),
      () => store.sourceCalls.deleteExpired(DAYS),
      () => store.statistics.deleteExpired(DAYS),
      () => store.reuse.deleteExpired(NOW),
      () => store.rates.deleteExpired(NOW),
      () => store.nodes.deleteExpired(NOW),
      () => store.throttle.deleteExpired(NOW),
      () => store.passkeys.deleteExpired(NOW),
      () => store.accounts.deleteExpired({ openedAfter: NOW, seenAfter: NOW, now: NOW }),
      () => store.deliveries.deleteExpired({ ageMs: DAY_MS, most: 1 }, NOW),
      () => store.queue.deleteExpired(DAY_MS, NOW),
      () => store.batches.deleteExpired(DAY_MS, NOW),
      () => store.requests.deleteExpired(NOW, 0),
      () => store.audit.prepareMonths(NOW),
    ])
      await cleanUp()
    expect(await store.catalogue.newestId()).toBe(3)
    expect(await store.reviews.list()).toEqual([])
    expect(await countChanges()).toBe(before)
  })
})
