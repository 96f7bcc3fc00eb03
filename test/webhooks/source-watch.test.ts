import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import type { NewEvent } from '../../src/contract/event.ts'
import { DAY_MS, toLagosDay } from '../../src/contract/time.ts'
import { createSourceWatch } from '../../src/webhooks/webhooks.ts'
import { describeEngines, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'
import { commitParts } from '../ledger/commit-parts.ts'

const PRICES = { dojah: { price: 5000, dailyCap: 100_000 }, prembly: { price: 5000, dailyCap: undefined } }

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  let stores: Store[]
  let told: NewEvent[]
  const clock = { ms: 0 }
  beforeEach(async () => {
    const place = await engine.createPlace()
    stores = await Promise.all([place.open(), place.open()])
    told = []
    clock.ms = Date.now()
  })
  afterEach(() => Promise.all(stores.map((store) => store.close())))

  const watch = (spendAlert: number | 'off' = 80) =>
    stores.map((store) =>
      createSourceWatch({
        ...{ events: store.events, sources: store.sources, prices: PRICES, spendAlert },
        announce: (event) => void told.push(event),
        now: () => clock.ms,
      }),
    )
  const runAll = async (watches: readonly (() => Promise<void>)[]) => {
    await Promise.all(watches.map((each) => each()))
    await Promise.all(watches.map((each) => each()))
    return told.splice(0).map(({ type, data }) => [type, data])
  }
  const publish = (
    node: string,
    state: string,
    warnings: readonly string[] = [],
    down = state !== 'closed',
  ) =>
    (stores[0] as Store).sources.publish([
      {
        node,
        name: 'dojah',
        operation: 'verify_nin',
        state: JSON.stringify({ state, warnings, down }),
        at: clock.ms,
      },
    ])
  const data = { reference: 'source:dojah:verify_nin', source: 'dojah', operation: 'verify_nin' }
  const DOWN = ['source.down', { ...data, status: 'down', reason: 'breaker_open' }]
  const UP = ['source.up', { ...data, status: 'up' }]

  describe('a source', () => {
    it('is told once when it goes down and once when it is up, whatever the number of nodes', async () => {
      const watches = watch()
      await publish('one', 'closed')
      expect(await runAll(watches)).toEqual([])
      await publish('one', 'open')
      expect(await runAll(watches)).toEqual([DOWN])
      await publish('two', 'open')
      await publish('one', 'closed')
      expect(await runAll(watches)).toEqual([])
      await publish('two', 'half_open')
      expect(await runAll(watches)).toEqual([])
      await publish('two', 'closed')
      expect(await runAll(watches)).toEqual([UP])
      // A node that starts later knows what was told.
      expect(await runAll(watch())).toEqual([])
    })

    it('is up when the node that saw it down has died', async () => {
      const watches = watch()
      await publish('one', 'open')
      await publish('two', 'closed')
      expect(await runAll(watches)).toEqual([DOWN])
      clock.ms += 31_000
      await publish('two', 'closed')
      expect(await runAll(watches)).toEqual([UP])
    })

    it('without funds is down, before its breaker opens', async () => {
      await publish('one', 'closed', ['no_funds'])
      expect(await runAll(watch())).toEqual([
        ['source.down', { ...data, status: 'down', reason: 'no_funds' }],
      ])
    })

    it('that leaves requests without answers is down, also while its breaker is closed or half open', async () => {
      const watches = watch()
      await publish('one', 'closed', [], true)
      expect(await runAll(watches)).toEqual([['source.down', { ...data, status: 'down', reason: 'failing' }]])
      await publish('one', 'half_open')
      expect(await runAll(watches)).toEqual([])
      await publish('one', 'closed')
      expect(await runAll(watches)).toEqual([UP])
    })

    it('is down when one node sees it fail, although another has disabled it', async () => {
      await publish('one', 'disabled', [], false)
      await publish('two', 'open')
      expect(await runAll(watch())).toEqual([DOWN])
    })

    it('that is disabled, or of which no node reports, changes nothing', async () => {
      const watches = watch()
      await publish('one', 'open')
      expect(await runAll(watches)).toEqual([DOWN])
      await publish('one', 'disabled')
      expect(await runAll(watches)).toEqual([])
      clock.ms += DAY_MS
      expect(await runAll(watches)).toEqual([])
    })
  })

  describe('the spend', () => {
    const spend = async (times: number) => {
      const [store] = stores as [Store]
      const money = { name: 'dojah', day: toLagosDay(clock.ms), node: 'one', kobo: 5000 }
      await store.spend.lease({ ...money, capKobo: null }, clock.ms)
      for (let each = 0; each < times; each++)
        await commitParts(store, [{ spending: [{ ...money, calls: 1, isCapped: false }] }])
    }

    it('is told once a day, from the share of the cap on', async () => {
      const watches = watch()
      await spend(15)
      expect(await runAll(watches)).toEqual([])
      await spend(1)
      expect(await runAll(watches)).toMatchObject([
        ['spend.near_cap', { source: 'dojah', status: 'near_cap', spent_naira: 800, cap_naira: 1000 }],
      ])
      await spend(3)
      expect(await runAll(watches)).toEqual([])
      clock.ms += DAY_MS
      expect(await runAll(watches)).toEqual([])
      await spend(20)
      expect(await runAll(watches)).toMatchObject([['spend.near_cap', { spent_naira: 1000 }]])
    })

    it('is not told where the alert is off', async () => {
      await spend(20)
      expect(await runAll(watch('off'))).toEqual([])
    })
  })
})
