import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, steadyNow } from '../../src/contract/time.ts'
import { packParts } from '../../src/ledger/commit.ts'
import { createSpendLeases, type Money, type Prices } from '../../src/sources/spend-leases.ts'
import type { SpendTable } from '../../src/sources/spend-table.ts'
import { describeEngines, ENGINES, type Place } from '../engines.ts'

const PRICE = 5000
const PRICES = { dojah: { price: PRICE, dailyCap: 100 * PRICE }, free: { price: 0, dailyCap: undefined } }

describeEngines(ENGINES, (engine) => {
  let place: Place
  let stores: [Store, Store]
  beforeEach(async () => {
    place = await engine.createPlace()
    stores = [await place.open(), await place.open()]
    for (const [index, store] of stores.entries()) await beat(store, `node-${index}`)
    // No node dies because a busy machine takes longer for a test than the heartbeat is valid.
    await stores[0].database.prepare('UPDATE nodes SET seen_at = seen_at + $1').run(DAY_MS)
  })
  afterEach(async () => {
    for (const store of stores) await store.close()
  })

  const beat = (store: Store, owner: string) => {
    const figures = { worker: 1, version: '1', inFlight: 0, requestsPerS: 0, lagMs: 0, uptimeMs: 0 }
    return store.nodes.sendHeartbeat({ owner, node: owner, ...figures }, steadyNow())
  }
  const openNode = (index: 0 | 1, table: Partial<SpendTable> = {}, prices: Prices = PRICES) => {
    const node = `node-${index}`
    const leases = createSpendLeases({ ...stores[index].spend, ...table }, prices, node)
    const spend = async (money: Money, calls: 1 | -1 = 1) => {
      const { audit } = stores[index]
      const parts = packParts([{ spending: [{ ...money, node, calls }] }], steadyNow())
      return (await audit.append({ rows: audit.packRows([]), parts })).refused
    }
    /** Takes and commits until the cap is reached, at most so many. */
    const spendAll = async (most = 1000) => {
      for (let count = 0; count < most; count++) {
        const money = await leases.take('dojah')
        if (money === 'spend_cap') return count
        if ((await spend(money)).length > 0) {
          leases.lose(money)
          count -= 1
        }
      }
      return most
    }
    return { leases, spend, spendAll }
  }
  const readSpent = async () => {
    const rows = await stores[0].database.prepare('SELECT calls, kobo, leased_kobo FROM spend_shares').all()
    return rows.reduce((sum: number, { kobo }) => sum + Number(kobo), 0)
  }

  it('one node spends the cap to the last call, with few leases', async () => {
    const { spendAll } = openNode(0)
    expect(await spendAll()).toBe(100)
    expect(await readSpent()).toBe(100 * PRICE)
  })

  it('many callers at the same time are refused after one question, not one after the other', async () => {
    let asked = 0
    const lease: SpendTable['lease'] = (...args) => {
      asked += 1
      return stores[0].spend.lease(...args)
    }
    const { leases, spendAll } = openNode(0, { lease })
    expect(await spendAll()).toBe(100)
    asked = 0
    const answers = await Promise.all(Array.from({ length: 50 }, () => leases.take('dojah')))
    expect([new Set(answers), asked]).toEqual([new Set(['spend_cap']), 1])
  })

  it('two nodes together never exceed it, and the last one can spend what the other gives back', async () => {
    const [one, other] = [openNode(0), openNode(1)]
    const counts = await Promise.all([one.spendAll(30), other.spendAll(30)])
    expect(counts).toEqual([30, 30])
    await one.leases.close()
    expect(await other.spendAll()).toBe(40)
    expect(await readSpent()).toBe(100 * PRICE)
  })

  it('operations with prices of their own share one cap, to the last call that it allows', async () => {
    const prices = { two: { price: 0, prices: { nin: 3000, bvn: 7000 }, dailyCap: 20_000 } }
    const leases = createSpendLeases(stores[0].spend, prices, 'node-0')
    const take = async (kind: 'nin' | 'bvn') => {
      const money = await leases.take('two', kind)
      return money === 'spend_cap' ? money : money.kobo
    }
    expect([await take('nin'), await take('bvn'), await take('nin')]).toEqual([3000, 7000, 3000])
    expect(await take('bvn')).toBe(7000)
    expect([await take('bvn'), await take('nin')]).toEqual(['spend_cap', 'spend_cap'])
  })

  it('callers of both prices at the same time spend all that fits', async () => {
    const prices = { two: { price: 0, prices: { nin: 3000, bvn: 7000 }, dailyCap: 100_000 } }
    const leases = createSpendLeases(stores[0].spend, prices, 'node-0')
    const kinds = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? 'nin' : 'bvn'))
    const taken = await Promise.all(kinds.map((kind) => leases.take('two', kind as 'nin' | 'bvn')))
    const spent = taken.reduce((sum, money) => sum + (money === 'spend_cap' ? 0 : money.kobo), 0)
    expect(spent).toBeLessThanOrEqual(100_000)
    expect(spent).toBeGreaterThan(100_000 - 3000)
  })

  it('a free operation of a vendor with a cap is made and counted, also when the cap is reached', async () => {
    const prices = { two: { price: 0, prices: { bvn: 7000 }, dailyCap: 30_000 } }
    const { leases, spend } = openNode(0, {}, prices)
    const makeCall = async (kind: 'nin' | 'bvn') => {
      const money = await leases.take('two', kind)
      return money === 'spend_cap' ? money : spend(money)
    }
    expect(await makeCall('nin')).toEqual([])
    const kinds = ['bvn', 'bvn', 'nin', 'bvn', 'nin', 'bvn', 'nin'] as const
    for (const kind of kinds) expect(await makeCall(kind)).toEqual([])
    expect([await makeCall('bvn'), await makeCall('nin')]).toEqual(['spend_cap', []])
    const [row] = await stores[0].database.prepare('SELECT calls, kobo FROM spend_shares').all()
    expect([Number(row?.calls), Number(row?.kobo)]).toEqual([9, 28_000])
  })

  it('a free operation of a vendor with a cap is made again after a failover has lost the row', async () => {
    const { leases, spend } = openNode(0, {}, { two: { price: 0, prices: { bvn: 7000 }, dailyCap: 30_000 } })
    await leases.take('two', 'nin')
    await stores[0].database.prepare('DELETE FROM spend_shares').run()
    const money = (await leases.take('two', 'nin')) as Money
    expect(await spend(money)).toEqual([[0, 'money_lost']])
    leases.lose(money)
    expect(await spend((await leases.take('two', 'nin')) as Money)).toEqual([])
  })

  it('a node that makes few calls does not keep what another one needs', async () => {
    const [quiet, busy] = [openNode(0), openNode(1)]
    await quiet.spendAll(1)
    expect(await busy.spendAll()).toBe(75)
    await quiet.leases.releaseIdle()
    expect(await busy.spendAll()).toBe(24)
    expect(await readSpent()).toBe(100 * PRICE)
  })

  it('what a dead node had leased comes back, and it cannot spend it when it wakes up', async () => {
    const [dead, other] = [openNode(0), openNode(1)]
    await dead.spendAll(3)
    const kept = (await dead.leases.take('dojah')) as Money
    await stores[0].nodes.leave('node-0')
    expect(await other.spendAll()).toBe(97)
    expect(await dead.spend(kept)).toEqual([[0, 'money_lost']])
    dead.leases.lose(kept)
    expect(await dead.leases.take('dojah')).toBe('spend_cap')
    expect(await readSpent()).toBe(100 * PRICE)
  })

  it('a call that was not billed can be made again', async () => {
    const { leases, spend, spendAll } = openNode(0)
    const money = (await leases.take('dojah')) as Money
    await spend(money)
    await spend(money, -1)
    leases.putBack(money)
    expect(await spendAll()).toBe(100)
  })

  it('what cannot be given back while the store is unavailable is given back later', async () => {
    let isUnavailable = true
    const { leases, spendAll } = openNode(0, {
      giveBack: async (request) => {
        if (isUnavailable) throw new Error('store unavailable')
        await stores[0].spend.giveBack(request)
      },
    })
    await spendAll(3)
    leases.lose((await leases.take('dojah')) as Money)
    await expect(leases.take('dojah')).rejects.toThrow('store unavailable')
    isUnavailable = false
    expect(await spendAll()).toBe(97)
  })

  it('what may be leased is given back without another call', async () => {
    const [quiet, busy] = [openNode(0), openNode(1)]
    quiet.leases.lose((await quiet.leases.take('dojah')) as Money)
    await quiet.leases.releaseIdle()
    expect(await busy.spendAll()).toBe(100)
  })

  it('a lease whose confirmation is lost can be spent', async () => {
    let isLost = true
    const { leases, spendAll } = openNode(0, {
      lease: async (request, now) => {
        const granted = await stores[0].spend.lease(request, now)
        if (isLost) throw new Error('connection lost')
        return granted
      },
    })
    await expect(leases.take('dojah')).rejects.toThrow('connection lost')
    isLost = false
    expect(await spendAll()).toBe(100)
  })

  it('without a cap, a row that a failover has lost is made again', async () => {
    const { leases, spend } = openNode(0)
    expect(await spend((await leases.take('free')) as Money)).toEqual([])
    await stores[0].database.prepare('DELETE FROM spend_shares').run()
    const money = (await leases.take('free')) as Money
    expect(await spend(money)).toEqual([[0, 'money_lost']])
    leases.lose(money)
    expect(await spend((await leases.take('free')) as Money)).toEqual([])
  })

  it('without a cap or a price, calls are counted and nothing is leased', async () => {
    const { leases, spend } = openNode(0)
    for (let count = 0; count < 3; count++)
      expect(await spend((await leases.take('free')) as Money)).toEqual([])
    const [row] = await stores[0].database.prepare('SELECT calls, kobo, leased_kobo FROM spend_shares').all()
    expect([Number(row?.calls), Number(row?.kobo), Number(row?.leased_kobo)]).toEqual([3, 0, 0])
  })
})

describe('a late refund', () => {
  const REFUND = { id: 'a', name: 'free', day: 1, node: 'here', kobo: 0 }
  const openTable = () => {
    const written: string[] = []
    const table = {
      isUnavailable: false,
      written,
      lease: async () => 0,
      giveBack: async () => {},
      refund: async ({ id }: { readonly id: string }) => {
        if (table.isUnavailable) throw new Error('store unavailable')
        written.push(id)
        return true
      },
    }
    return table
  }
  const open = (table: ReturnType<typeof openTable>) =>
    createSpendLeases(table as never, PRICES, 'here', () => DAY_MS)

  it('never fails, and is tried again with the next call', async () => {
    const table = openTable()
    const leases = open(table)
    table.isUnavailable = true
    await leases.refundLate(REFUND)
    await leases.take('free')
    expect(table.written).toEqual([])
    table.isUnavailable = false
    await leases.take('free')
    await leases.close()
    expect(table.written).toEqual(['a'])
  })

  it('is tried again at the end', async () => {
    const table = openTable()
    const leases = open(table)
    table.isUnavailable = true
    await leases.refundLate(REFUND)
    table.isUnavailable = false
    await leases.close()
    expect(table.written).toEqual(['a'])
  })
})
