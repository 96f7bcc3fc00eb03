import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { rateTable } from '../../src/keys/rate-table.ts'
import { SQLITE } from '../engines.ts'

it('leases are given back in the order of their keys, so that nodes do not wait for each other in a circle', async () => {
  const given: unknown[] = []
  const tx = { prepare: () => ({ run: async (keyId: string) => given.push(keyId) }) }
  const database = {
    dialect: 'sqlite',
    prepare: () => ({}),
    transaction: (work: (inside: typeof tx) => unknown) => work(tx),
  }
  const unused = ['b', 'd', 'a', 'c'].map((keyId) => ({ keyId, endsAt: 1, tokens: 1 }))
  await rateTable.create(database as never).giveBack(unused)
  expect(given).toEqual(['a', 'b', 'c', 'd'])
})

let store: Store
beforeAll(async () => {
  store = await (await SQLITE.createPlace()).open()
})
afterAll(() => store.close())

it('a minute counts the requests of one key, and ends with its last millisecond', async () => {
  const lease = (keyId: string, at: number, wanted = 3) =>
    store.rates.lease({ keyId, limit: 10, wanted, owed: 0 }, at)
  expect(await lease('a', 1000)).toEqual({ tokens: 3, left: 7, endsInMs: 60_000, endsAt: 61_000 })
  expect(await lease('b', 1000)).toMatchObject({ tokens: 3, left: 7 })
  expect(await lease('a', 60_999)).toEqual({ tokens: 3, left: 4, endsInMs: 1, endsAt: 61_000 })
  expect(await lease('a', 61_000)).toEqual({ tokens: 3, left: 7, endsInMs: 60_000, endsAt: 121_000 })
  // Two minutes ahead is the latest that is believed.
  expect(await lease('a', 1000)).toMatchObject({ left: 4, endsAt: 121_000 })
  expect(await lease('a', 999)).toMatchObject({ left: 7, endsAt: 60_999 })
})

it('no more is given back than was used, and only to the key that leased it', async () => {
  const lease = (keyId: string) => store.rates.lease({ keyId, limit: 10, wanted: 5, owed: 0 }, 1000)
  const { endsAt } = await lease('c')
  await lease('d')
  await store.rates.giveBack([{ keyId: 'c', endsAt, tokens: 6 }])
  expect(await lease('c')).toMatchObject({ tokens: 5, left: 0 })
  await store.rates.giveBack([{ keyId: 'c', endsAt, tokens: 10 }])
  expect(await lease('c')).toMatchObject({ tokens: 5, left: 5 })
  expect(await lease('d')).toMatchObject({ tokens: 5, left: 0 })
})
