import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { importLists } from '../../src/catalogue/change.ts'
import { acceptReview, readReview, rejectReview } from '../../src/catalogue/review.ts'
import { type Clock, startSchedule, syncCatalogue } from '../../src/catalogue/sync.ts'
import { readShipped, SCHEDULE } from '../../src/catalogue/versions.ts'
import { mapItems, raisePrices } from '../../src/simulator/price-list.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import type { Source } from '../../src/sources/source.ts'
import { openSyncSetup, readAudit, type SyncSetup } from './sync-setup.ts'

let setup: SyncSetup
beforeEach(async () => {
  setup = await openSyncSetup('vtpass', createVtpass)
})
afterEach(() => setup.close())

const priceNow = () => setup.test.context.catalogue.listInternetBundles('smile')?.[0]?.price
const pending = () => setup.deps.reviews.list()
const setPrices = (factor: number) => {
  setup.vendorLists.files = mapItems(readShipped(), (item) => ({
    ...item,
    price: String(Math.max(1, Math.round(Number(item.price) * factor))),
  }))
}
const bySchedule = () => setup.sync({ author: SCHEDULE }).catch((error: Error) => error.name)

describe('implausible lists of a vendor', () => {
  it.each([1000, 0.001, 3])('with prices times %d are not saved, and need a review', async (factor) => {
    setPrices(factor)
    expect(await bySchedule()).toBe('AwaitsReview')
    expect([priceNow(), await setup.deps.table.newestId()]).toEqual(['450', 0])
    expect(await pending()).toMatchObject([{ id: 1, source: 'vtpass' }])
  })

  it('are stored once, however often they are sent', async () => {
    setPrices(1000)
    for (let turn = 0; turn < 3; turn++) await bySchedule()
    expect(await pending()).toHaveLength(1)
    expect(await readAudit(setup.test)).toEqual([
      'catalogue_sync implausible vtpass',
      'catalogue_sync waiting vtpass',
      'catalogue_sync waiting vtpass',
    ])
  })

  it('are activated by a review, and keep changes made meanwhile', async () => {
    setPrices(3)
    await bySchedule()
    const own = { ...readShipped().internet[1], segment: 'swift', type: 'SWIFT' }
    await importLists(setup.deps, own, { author: 'test' })
    const { changes } = await readReview(setup.deps, 1)
    expect(changes.some(({ list }) => list === 'swift')).toBe(false)
    expect(await acceptReview(setup.deps, 1, 'ada')).toMatchObject({ outcome: 'changed', id: 3 })
    await setup.test.context.catalogue.refresh()
    expect(priceNow()).toBe('1350')
    expect(setup.test.context.catalogue.providers).toContain('swift')
    expect(await pending()).toEqual([])
    expect(await bySchedule()).toMatchObject({ outcome: 'unchanged' })
  })

  it('are not proposed again after they were rejected, until they change', async () => {
    setPrices(1000)
    await bySchedule()
    await rejectReview(setup.deps, 1, 'ada')
    await bySchedule()
    expect(await pending()).toEqual([])
    expect((await readAudit(setup.test)).slice(1)).toEqual([
      'catalogue_reviewed rejected review 1 of vtpass',
      'catalogue_sync rejected vtpass',
    ])
    setPrices(1001)
    await bySchedule()
    expect(await pending()).toMatchObject([{ id: 2 }])
  })

  it('are withdrawn when the vendor sends plausible lists', async () => {
    setPrices(1000)
    await bySchedule()
    setup.vendorLists.files = raisePrices(readShipped())
    expect(await bySchedule()).toMatchObject({ outcome: 'changed' })
    expect(await pending()).toEqual([])
  })

  it('include lists that changed in many small steps', async () => {
    const names: unknown[] = []
    for (const factor of [1.4, 1.9, 2.6]) {
      setPrices(factor)
      const result = await bySchedule()
      names.push(typeof result === 'string' ? result : result.outcome)
    }
    expect(names).toEqual(['changed', 'AwaitsReview', 'AwaitsReview'])
  })
})

describe('labels', () => {
  it.each([
    ['NUL', '1GB \u0000 plan'],
    ['ESC', '1GB \u001b[31m plan'],
    ['a line break', '1GB\nplan'],
    ['a bidirectional control character', '1GB \u202e plan'],
    ['an invisible character', '1GB\u200b plan'],
    ['a tag', '<b>1GB</b>'],
    ['an entity', '1GB &lt;script&gt;'],
    ['a numeric entity', '1GB &#60;'],
    ['too many characters', 'x'.repeat(201)],
  ])('with %s are refused, from a vendor and from a file, even with force', async (_what, description) => {
    setup.vendorLists.files = mapItems(readShipped(), (item) =>
      item.code === '624' ? { ...item, description } : item,
    )
    const sentence = /smile\.json: \/bundles\/0\/description (holds|is longer)/
    await expect(setup.sync({ force: true })).rejects.toThrow(sentence)
    const files = setup.vendorLists.files
    await expect(importLists(setup.deps, files, { author: 'test', force: true })).rejects.toThrow(sentence)
    expect(await setup.deps.table.newestId()).toBe(0)
  })

  it('keep their spaces, accents and an ampersand', async () => {
    const description = '  Ẹ̀kọ́ & Asia – 1GB '
    setup.vendorLists.files = mapItems(readShipped(), (item) =>
      item.code === '624' ? { ...item, description } : item,
    )
    await setup.sync()
    expect(setup.test.context.catalogue.listInternetBundles('smile')?.[0]?.description).toBe(description)
  })

  it('are refused in files with a price of 0 or a personal number in a note', async () => {
    const [smile] = readShipped().internet
    const importList = (list: object) => importLists(setup.deps, list, { author: 'test', force: true })
    const [first, ...others] = smile?.bundles ?? []
    for (const price of ['0', '0.00', '999999999999'])
      await expect(importList({ ...smile, bundles: [{ ...first, price }, ...others] })).rejects.toThrow(
        /above 0/,
      )
    await expect(importList({ ...smile, note: 'ask 0803 123 4567' })).rejects.toThrow(
      /\/note must not hold ten digits/,
    )
  })
})

describe('a sync', () => {
  it('ends at its time limit, even when the source ignores the signal', async () => {
    const silent: Source = { name: 'vtpass', isExternal: true, fetchCatalogue: () => new Promise(() => {}) }
    const sync = syncCatalogue(setup.deps, silent, { author: 'test', limitMs: 20 })
    await expect(sync).rejects.toMatchObject({ name: 'SourceError', reason: 'timeout' })
    expect(await setup.deps.table.listSyncs()).toMatchObject([{ source: 'vtpass', outcome: 'timeout' }])
  })

  it('with an interval of a minute runs every minute', async () => {
    let now = 1_790_000_000_000
    let next: { ms: number; work: () => void } | undefined
    const clock: Clock = {
      now: () => now,
      after: (ms, work) => {
        next = { ms, work }
        return () => {}
      },
    }
    const calledAt: number[] = []
    const source: Source = {
      name: 'vtpass',
      isExternal: true,
      fetchCatalogue: async () => {
        calledAt.push(now)
        // The call takes time, and timers are late by different amounts.
        now += 300
        return { internet: [], tv: [] }
      },
    }
    const log = { event: () => {}, failure: () => {} }
    const schedule = startSchedule({ deps: setup.deps, log, sources: [source], everyMs: 60_000, clock })
    const start = now
    for (let turn = 0; now < start + 600_000; turn++) {
      await expect.poll(() => next).toBeDefined()
      const { ms, work } = next as { ms: number; work: () => void }
      next = undefined
      now += ms + (turn % 3)
      work()
    }
    await schedule.close()
    const gaps = calledAt.slice(1).map((at, index) => at - (calledAt[index] ?? 0))
    expect(gaps.length).toBeGreaterThan(8)
    for (const gap of gaps) expect(gap).toBeLessThan(60_100)
  })
})
