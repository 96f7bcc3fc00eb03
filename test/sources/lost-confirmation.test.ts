import { expect, it } from 'vitest'
import { openStore } from '../../src/context/store.ts'
import { steadyNow, toLagosDay } from '../../src/contract/time.ts'
import { createSpendLeases, type Money } from '../../src/sources/spend-leases.ts'
import { openCuttingProxy } from '../database/cutting-proxy.ts'
import { newFolder } from '../engines.ts'
import { commitParts } from '../ledger/commit-parts.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

it.skipIf(!hasPostgres())(
  'a refund whose confirmation is lost on PostgreSQL is written once, and the cap stays exact',
  async () => {
    const databaseUrl = await createTestDatabase()
    const proxy = await openCuttingProxy(databaseUrl)
    const store = await openStore({ dataDir: newFolder(), databaseUrl: proxy.url })
    const prices = { dojah: { price: 5000, dailyCap: 15_000 } }
    const leases = createSpendLeases(store.spend, prices, 'here')
    const spend = async () => {
      const money = await leases.take('dojah')
      if (money !== 'spend_cap')
        expect(await commitParts(store, [{ spending: [{ ...money, calls: 1 }] }])).toEqual([])
      return money
    }
    const listSpend = () => store.sources.listSpend(toLagosDay(steadyNow()))
    const first = (await spend()) as Money
    await spend()
    await spend()
    expect(await spend()).toBe('spend_cap')
    proxy.arm()
    await leases.refundLate({ ...first, id: 'first' })
    expect(proxy.cuts()).toBe(1)
    expect(await listSpend()).toEqual([{ name: 'dojah', calls: 2, kobo: 10_000 }])
    // The next call sends the refund again. The cap then allows one call, but not two.
    await spend()
    await leases.close()
    await createSpendLeases(store.spend, prices, 'here').close()
    const other = createSpendLeases(store.spend, prices, 'b')
    const last = await other.take('dojah')
    if (last !== 'spend_cap') await commitParts(store, [{ spending: [{ ...last, calls: 1 }] }])
    expect(await other.take('dojah')).toBe('spend_cap')
    expect(await listSpend()).toEqual([{ name: 'dojah', calls: 3, kobo: 15_000 }])
    await store.close()
    await proxy.close()
  },
)
