import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NewVersion } from '../../src/catalogue/catalogue-table.ts'
import type { Store } from '../../src/context/store.ts'
import { HOUR_MS } from '../../src/contract/time.ts'
import { describeEngines, ENGINES } from '../engines.ts'

const NOW = 1_790_000_000_123

const toVersion = (origin: string): NewVersion => ({
  at: NOW,
  origin,
  author: 'test',
  content: `{"label":" ₦ ${origin} "}`,
  digest: 'd'.repeat(64),
})

describeEngines(ENGINES, (engine) => {
  let nodes: Store[]
  beforeAll(async () => {
    const { open } = await engine.createPlace()
    nodes = await Promise.all([open(), open()])
  })
  afterAll(() => Promise.all(nodes.map((node) => node.close())))

  describe('versions of the catalogue', () => {
    it('do not exist at first', async () => {
      const [{ catalogue }] = nodes as [Store]
      expect(await catalogue.newestId()).toBe(0)
      expect(await catalogue.newest()).toBeUndefined()
      expect(await catalogue.list()).toEqual([])
    })

    it('are numbered from 1, and read as they were written', async () => {
      const [one, other] = nodes as [Store, Store]
      const [first, second] = [toVersion('shipped'), toVersion('vtpass')]
      expect(await one.catalogue.append(0, [first, second])).toBe(2)
      expect(await other.catalogue.newestId()).toBe(2)
      expect(await other.catalogue.newest()).toEqual({ id: 2, ...second })
      expect(await other.catalogue.find(1)).toEqual({ id: 1, ...first })
      expect(await other.catalogue.find(3)).toBeUndefined()
      const { content: _, ...head } = second
      expect((await other.catalogue.list()).at(-1)).toEqual({ id: 2, ...head })
    })

    it('are added only after the version that was read', async () => {
      const [one, other] = nodes as [Store, Store]
      await expect(one.catalogue.append(1, [toVersion('late')])).rejects.toMatchObject({
        name: 'UserError',
        message: expect.stringContaining('was changed meanwhile'),
      })
      const both = await Promise.allSettled([
        one.catalogue.append(2, [toVersion('a')]),
        other.catalogue.append(2, [toVersion('b')]),
      ])
      expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      expect(await one.catalogue.newestId()).toBe(3)
    })
  })

  describe('claims of a sync', () => {
    it('go to one node, and are free again after the interval', async () => {
      const claim = (at: number) =>
        Promise.all(
          nodes.map(({ catalogue }) => catalogue.claimSync({ source: 'vtpass', at, everyMs: HOUR_MS })),
        )
      expect((await claim(NOW)).toSorted()).toEqual([false, true])
      expect(await claim(NOW + HOUR_MS - 1)).toEqual([false, false])
      expect((await claim(NOW + HOUR_MS)).toSorted()).toEqual([false, true])
      // A clock that was once a day ahead does not stop the sync for a day.
      expect((await claim(NOW - 24 * HOUR_MS)).toSorted()).toEqual([false, true])
    })

    it('end with an outcome', async () => {
      const [{ catalogue }] = nodes as [Store]
      const find = async () => (await catalogue.listSyncs()).find(({ source }) => source === 'baxi')
      await catalogue.claimSync({ source: 'baxi', at: NOW, everyMs: HOUR_MS })
      expect(await find()).toEqual({ source: 'baxi', startedAt: NOW, outcome: undefined })
      await catalogue.recordSync('baxi', NOW + 1, 'unchanged')
      expect(await find()).toEqual({ source: 'baxi', startedAt: NOW + 1, outcome: 'unchanged' })
    })
  })
})
