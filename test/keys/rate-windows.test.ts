import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { describeEngines, ENGINES } from '../engines.ts'

describeEngines(ENGINES, (engine) => {
  let stores: Store[]
  beforeEach(async () => {
    const { open } = await engine.createPlace()
    stores = await Promise.all([open(), open()])
  })
  afterEach(async () => void (await Promise.all(stores.map((store) => store.close()))))

  const lease = (wanted: number, owed = 0, store = stores[0] as Store) =>
    store.rates.lease({ keyId: 'a', limit: 100, wanted, owed }, Date.now())

  it('leases of two nodes at once are never more than the limit', async () => {
    const leases = await Promise.all(Array.from({ length: 50 }, (_, index) => lease(3, 0, stores[index % 2])))
    expect(leases.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(100)
    expect(Math.min(...leases.map(({ left }) => left))).toBe(0)
    expect(await lease(1)).toMatchObject({ tokens: 0, left: 0 })
  })

  it('a lease with an earlier time does not start the minute again', async () => {
    const [store] = stores as [Store]
    const now = Date.now()
    const leaseAt = (at: number) => store.rates.lease({ keyId: 'a', limit: 100, wanted: 80, owed: 0 }, at)
    expect(await leaseAt(now)).toMatchObject({ tokens: 80 })
    expect(await leaseAt(now - 5)).toMatchObject({ tokens: 20 })
  })

  it('what is given back can be leased again, in its own minute only', async () => {
    const first = await lease(100)
    expect(first).toMatchObject({ tokens: 100, left: 0 })
    const [store] = stores as [Store]
    await store.rates.giveBack([{ keyId: 'a', endsAt: first.endsAt - 60_000, tokens: 40 }])
    expect(await lease(10)).toMatchObject({ tokens: 0 })
    await store.rates.giveBack([{ keyId: 'a', endsAt: first.endsAt, tokens: 40 }])
    expect(await lease(50)).toMatchObject({ tokens: 40, left: 0 })
  })

  it('requests that were answered without a lease are counted first', async () => {
    expect(await lease(10, 95)).toMatchObject({ tokens: 5, left: 0 })
    expect(await lease(10, 7)).toMatchObject({ tokens: 0, left: 0 })
  })

  it('a minute ends, and one that ends too late is of a clock that was ahead', async () => {
    const [store] = stores as [Store]
    for (const ms of [-60_000, 600_000]) {
      await lease(100)
      expect(await lease(1)).toMatchObject({ tokens: 0 })
      await store.database.prepare('UPDATE rate_windows SET ends_at = ends_at + $1').run(ms)
      expect(await lease(1)).toMatchObject({ tokens: 1, left: 99 })
    }
    await store.database.prepare('UPDATE rate_windows SET ends_at = ends_at - 60001').run()
    expect(await store.rates.deleteExpired(Date.now())).toBe(1)
  })
})
