import { expect, it } from 'vitest'
import { openStore } from '../../src/context/store.ts'
import type { Spending } from '../../src/sources/guard/call-guard.ts'
import { createSharedState } from '../../src/sources/guard/shared-state.ts'
import { openCuttingProxy } from '../database/cutting-proxy.ts'
import { newFolder } from '../engines.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

it.skipIf(!hasPostgres())(
  'a refund whose confirmation is lost on PostgreSQL is written once, and the cap stays exact',
  async () => {
    const databaseUrl = await createTestDatabase()
    const proxy = await openCuttingProxy(databaseUrl)
    const store = await openStore({ dataDir: newFolder(), databaseUrl: proxy.url })
    const prices = { dojah: { price: 5000, dailyCap: 15_000 } }
    const sharedState = createSharedState({ table: store.sources, prices, node: 'here' })
    const first = (await sharedState.spend('dojah')) as Spending
    await sharedState.spend('dojah')
    await sharedState.spend('dojah')
    expect(await sharedState.spend('dojah')).toBe('spend_cap')
    proxy.arm()
    await first.refund()
    expect(proxy.cuts()).toBe(1)
    expect(await sharedState.listSpend()).toEqual([{ name: 'dojah', calls: 2, kobo: 10_000 }])
    // The next call sends the refund again. The cap then allows one call, but not two.
    await sharedState.spend('dojah')
    await sharedState.close()
    expect(await sharedState.listSpend()).toEqual([{ name: 'dojah', calls: 3, kobo: 15_000 }])
    expect(await createSharedState({ table: store.sources, prices, node: 'b' }).spend('dojah')).toBe(
      'spend_cap',
    )
    await store.close()
    await proxy.close()
  },
)
