import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Proposal } from '../../src/catalogue/review-table.ts'
import type { Store } from '../../src/context/store.ts'
import type { Place } from '../engines.ts'
import { describeEngines, ENGINES } from '../engines.ts'

const propose = (fingerprint: string, source = 'vtpass'): Proposal => ({
  source,
  at: 1_790_000_000_123,
  fingerprint,
  doubts: ['The list "smile" would lose ₦.', 'And more.'],
  content: `{"label":" ${fingerprint} "}`,
})

describeEngines(ENGINES, (engine) => {
  let place: Place
  let nodes: Store[]
  beforeAll(async () => {
    place = await engine.createPlace()
    nodes = await Promise.all([place.open(), place.open()])
  })
  afterAll(() => Promise.all(nodes.map((node) => node.close())))
  const idsOf = async ({ reviews }: Store) => (await reviews.list()).map(({ id }) => id)

  describe('reviews of the catalogue', () => {
    it('are stored once, and read as they were written after a restart', async () => {
      const [one, other] = nodes as [Store, Store]
      const raised = await Promise.all([one.reviews.raise(propose('a')), other.reviews.raise(propose('a'))])
      expect(raised.map(({ isNew }) => isNew).toSorted()).toEqual([false, true])
      expect(raised.map(({ id, state }) => [id, state])).toEqual([
        [1, 'pending'],
        [1, 'pending'],
      ])
      const later = await place.open()
      expect(await later.reviews.find(1)).toEqual({ id: 1, ...propose('a') })
      const { content: _, ...head } = propose('a')
      expect(await later.reviews.list()).toEqual([{ id: 1, ...head }])
      await later.close()
    })

    it('are replaced only by the next review of the same vendor', async () => {
      const [one] = nodes as [Store]
      expect(await one.reviews.raise(propose('b'))).toEqual({ id: 2, state: 'pending', isNew: true })
      expect(await one.reviews.raise(propose('b', 'baxi'))).toMatchObject({ id: 3 })
      expect(await idsOf(one)).toEqual([2, 3])
      expect(await one.reviews.find(1)).toBeUndefined()
      expect(await one.reviews.raise(propose('a'))).toEqual({ id: 4, state: 'pending', isNew: true })
      expect(await idsOf(one)).toEqual([3, 4])
    })

    it('are decided once, and rejected lists do not become pending again', async () => {
      const [one, other] = nodes as [Store, Store]
      const decision = { id: 4, state: 'rejected', at: 1, by: 'ada' } as const
      const decided = await Promise.all([one.reviews.decide(decision), other.reviews.decide(decision)])
      expect(decided.toSorted()).toEqual([false, true])
      expect(await one.reviews.raise(propose('c'))).toMatchObject({ id: 5, isNew: true })
      expect(await one.reviews.raise(propose('a'))).toEqual({ id: 4, state: 'rejected', isNew: false })
      expect(await idsOf(one)).toEqual([3])
    })

    it('are withdrawn when the vendor sends plausible lists', async () => {
      const [one] = nodes as [Store]
      await one.reviews.withdraw('baxi', 2)
      expect(await idsOf(one)).toEqual([])
      expect(await one.reviews.decide({ id: 3, state: 'accepted', at: 3, by: 'ada' })).toBe(false)
    })
  })
})
