import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rollBack } from '../../src/catalogue/change.ts'
import { type Clock, startSchedule, syncCatalogue } from '../../src/catalogue/sync.ts'
import { readBaseline, readShipped } from '../../src/catalogue/versions.ts'
import { mapItems, raisePrices } from '../../src/simulator/price-list.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import { type Source, SourceError } from '../../src/sources/source.ts'
import { openSyncSetup, readAudit, type SyncSetup } from './sync-setup.ts'

let setup: SyncSetup
beforeEach(async () => {
  setup = await openSyncSetup('vtpass', createVtpass)
})
afterEach(() => setup.close())

const priceNow = async () => {
  await setup.test.context.catalogue.refresh()
  return setup.test.context.catalogue.listInternetBundles('smile')?.[0]?.price
}

describe('a rollback', () => {
  it('returns to the version before, or to the shipped lists, as a new version', async () => {
    await expect(rollBack(setup.deps, undefined, 'ada')).rejects.toThrow(
      'There is no older version: the shipped lists are active.',
    )
    setup.vendorLists.files = raisePrices(readShipped())
    await setup.sync()
    setup.vendorLists.files = raisePrices(setup.vendorLists.files)
    await setup.sync()
    expect(await priceNow()).toBe('545')
    expect(await rollBack(setup.deps, undefined, 'ada')).toMatchObject({ outcome: 'changed', id: 4 })
    expect(await priceNow()).toBe('495')
    expect(await rollBack(setup.deps, 'shipped', 'ada')).toMatchObject({ outcome: 'changed', id: 5 })
    expect(await priceNow()).toBe('450')
    expect((await readAudit(setup.test)).slice(-2)).toEqual([
      expect.stringMatching(/^catalogue_changed ok rollback of 2, after version 3: /),
      expect.stringMatching(/^catalogue_changed ok shipped, after version 4: /),
    ])
  })

  it('is seen also if all versions are gone: the shipped lists are active again', async () => {
    setup.vendorLists.files = raisePrices(readShipped())
    await setup.sync()
    expect(await priceNow()).toBe('495')
    await setup.test.context.store.database.prepare('DELETE FROM catalogue_versions').run()
    expect(await priceNow()).toBe('450')
  })
})

describe('the lists that a scheduled sync is compared with', () => {
  it('are none if the version cannot be read', async () => {
    const { table } = setup.deps
    expect((await readBaseline(table, Date.now()))?.internet).toEqual(undefined)
    const damaged = { at: 1, origin: 'import', author: 'ada', content: '{"internet":', digest: 'x' }
    await table.append(0, [damaged])
    expect(await readBaseline(table, Date.now())).toBeUndefined()
  })
})

describe('a sync', () => {
  it('of a vendor without lists is refused', async () => {
    const source: Source = { name: 'dojah', isExternal: true }
    await expect(syncCatalogue(setup.deps, source, { author: 'ada' })).rejects.toThrow(
      'dojah has no lists to fetch.',
    )
    expect((await readAudit(setup.test)).at(-1)).toBe('catalogue_sync refused dojah')
  })
})

/** A schedule whose runs the test starts. */
function openSchedule(source: Source) {
  const events: unknown[] = []
  const failures: unknown[] = []
  let next: (() => void) | undefined
  let now = Date.now()
  const clock: Clock = {
    now: () => now,
    after: (_ms, work) => {
      next = work
      return () => {}
    },
  }
  const log = {
    event: (level: string, event: string, fields?: object) => void events.push({ level, event, ...fields }),
    failure: (error: unknown) => void failures.push(error),
  }
  const schedule = startSchedule({ deps: setup.deps, log, sources: [source], everyMs: 1000, clock })
  const waitForEnd = () => expect.poll(() => next).toBeDefined()
  return {
    ...{ events, failures, waitForEnd, close: schedule.close },
    runAgain: async () => {
      const work = next
      next = undefined
      now += 3_600_000
      work?.()
      await waitForEnd()
    },
  }
}

describe('the log of the schedule', () => {
  it('warns of a review once, and has each failure with its reason', async () => {
    const doubtful = mapItems(readShipped(), (item) => ({
      ...item,
      price: String(Number(item.price) * 1000),
    }))
    const failure = new Error('out of order')
    let answer = async () => doubtful
    const source: Source = { name: 'acme', isExternal: true, fetchCatalogue: () => answer() }
    const { events, failures, waitForEnd, runAgain, close } = openSchedule(source)
    await waitForEnd()
    await runAgain()
    answer = async () => {
      throw new SourceError('acme', 'refused', { problem: 'credentials' })
    }
    await runAgain()
    answer = async () => {
      throw failure
    }
    await runAgain()
    const common = { event: 'catalogue_sync', source: 'acme' }
    expect(events).toEqual([
      { level: 'warn', ...common, outcome: 'implausible', review: 1 },
      { level: 'info', ...common, outcome: 'waiting', review: 1 },
      { level: 'warn', ...common, outcome: 'refused' },
      { level: 'warn', ...common, outcome: 'failed' },
    ])
    expect(failures).toEqual([failure])
    await close()
  })
})
