import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deleteExpiredReviews } from '../../src/catalogue/review.ts'
import { deleteExpiredVersions, readBaseline, SCHEDULE } from '../../src/catalogue/versions.ts'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { ROWS_PER_STEP } from '../../src/database/delete-some.ts'
import { runTasks } from '../../src/server/cleanup.ts'
import { toFirstKept } from '../../src/statistics/steps.ts'
import { describeEngines, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'

const NOW = Date.UTC(2026, 10, 16, 12)

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  let store: Store
  beforeEach(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterEach(() => store.close())

  const cleanUp = (task: () => Promise<number>) =>
    runTasks(
      [task],
      {
        failure: (error) => {
          throw error
        },
      },
      () => false,
    )

  describe('daily statistics', () => {
    const FIRST_DAY = '2026-11-06'
    const addDays = (days: number) =>
      store.statistics.addLatencies(
        Array.from({ length: days }, (_day, ago) => ({
          ...{ span: 'day', node: 'node-1', mode: 'live', class: 1, count: 1 },
          at: new Date(NOW - ago * DAY_MS).toISOString().slice(0, 10),
        })),
      )
    const listDays = async () =>
      (await store.database.prepare('SELECT at FROM latencies ORDER BY at').all()).map(({ at }) => String(at))

    it('are deleted in steps after the time of the setting', async () => {
      await addDays(2500)
      let steps = 0
      await cleanUp(() => {
        steps += 1
        return store.statistics.deleteExpired(toFirstKept(NOW, 10 * DAY_MS))
      })
      expect(steps).toBe(store.database.dialect === 'postgres' ? 4 : 2500 / ROWS_PER_STEP)
      const days = await listDays()
      expect(days).toHaveLength(11)
      expect(days[0]).toBe(FIRST_DAY)
    })

    it('are deleted by two nodes at once', async () => {
      await addDays(2500)
      const deleteOld = () => cleanUp(() => store.statistics.deleteExpired(toFirstKept(NOW, 10 * DAY_MS)))
      await Promise.all([deleteOld(), deleteOld()])
      expect(await listDays()).toHaveLength(11)
    })
  })

  describe('versions of the catalogue', () => {
    const EMPTY = JSON.stringify({ internet: [], tv: [] })
    const append = (versions: readonly { readonly author: string; readonly at: number }[]) =>
      store.catalogue.append(
        0,
        versions.map((version) => ({ ...version, origin: 'import', content: EMPTY, digest: 'x' })),
      )
    const listIds = async () => (await store.catalogue.list()).map(({ id }) => id)
    const deleteOld = () => cleanUp(() => deleteExpiredVersions(store.catalogue, NOW))
    const times = (count: number, author: string, at: number) =>
      Array.from({ length: count }, () => ({ author, at }))

    it('are kept if they are among the newest, or the first', async () => {
      await append(times(2203, 'a person', NOW))
      await deleteOld()
      const ids = await listIds()
      expect(ids).toHaveLength(1001)
      expect(ids.slice(0, 2)).toEqual([1, 1204])
      expect((await store.catalogue.newest())?.id).toBe(2203)
    })

    it('are kept if the next scheduled sync is compared with them', async () => {
      await append([...times(5, 'a person', NOW), ...times(1500, SCHEDULE, NOW)])
      const baseline = await readBaseline(store.catalogue, NOW)
      expect(baseline).toBeDefined()
      await deleteOld()
      expect((await listIds()).slice(0, 3)).toEqual([1, 5, 6])
      expect(await readBaseline(store.catalogue, NOW)).toEqual(baseline)
    })

    it('are compared with the version of a week ago, and older ones are not kept for that', async () => {
      await append([...times(5, 'a person', 0), ...times(5, SCHEDULE, 0), ...times(1500, SCHEDULE, NOW)])
      await deleteOld()
      expect((await listIds()).slice(0, 3)).toEqual([1, 10, 11])
    })

    it('all stay if there are few or none', async () => {
      await deleteOld()
      expect(await listIds()).toEqual([])
      await append(times(3, SCHEDULE, 0))
      await deleteOld()
      expect(await listIds()).toEqual([1, 2, 3])
    })
  })

  it('withdrawn reviews are deleted after 90 days, rejected ones stay', async () => {
    const propose = (fingerprint: string, at: number) =>
      store.reviews.raise({ source: 'relay', at, fingerprint, doubts: [], content: '{}' })
    const { id: rejected } = await propose('one', 1)
    await store.reviews.decide({ id: rejected, state: 'rejected', at: 1, by: 'a person' })
    await propose('two', 2)
    await propose('three', 3)
    await store.reviews.withdraw('relay', NOW)
    await propose('four', NOW)
    await store.reviews.withdraw('relay', 4)
    await cleanUp(() => deleteExpiredReviews(store.reviews, NOW))
    const rows = await store.database.prepare('SELECT fingerprint FROM catalogue_reviews ORDER BY id').all()
    expect(rows.map(({ fingerprint }) => fingerprint)).toEqual(['one', 'three', 'four'])
    expect(await propose('one', NOW)).toEqual({ id: rejected, state: 'rejected', isNew: false })
    expect(await propose('five', NOW)).toEqual({ id: 5, state: 'pending', isNew: true })
  })
})
