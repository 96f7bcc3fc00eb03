import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { toOverview } from '../../src/admin/overview.ts'
import { createOverviewCache } from '../../src/admin/overview-cache.ts'
import type { Context } from '../../src/context/context.ts'
import type { Store } from '../../src/store/store.ts'
import { openTestApp, PHONE, type TestApp } from '../app.ts'

const WISH = { range: 'day', mode: 'all' } as const

let server: TestApp
beforeAll(async () => {
  server = await openTestApp()
  const headers = { authorization: `Bearer ${await server.createKey({ name: 'the shop' })}` }
  await server.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers,
    payload: { nin: '45678901234', phone: PHONE },
  })
})
afterAll(() => server.close())

const withStore = (parts: Partial<Store>): Context => ({
  ...server.context,
  store: { ...server.context.store, ...parts },
})

describe('the overview', () => {
  it('reads only the keys that it shows', async () => {
    const { keys } = server.context.store
    const list = () => Promise.reject(new Error('there may be thousands'))
    const overview = await toOverview(withStore({ keys: { ...keys, list } }), WISH)
    expect(overview.keys).toEqual([expect.objectContaining({ name: 'the shop', verifications: 1 })])
  })

  it('is kept longer if computing it takes longer', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const { statistics } = server.context.store
    const outcomes: typeof statistics.outcomes = (stretch) => {
      vi.advanceTimersByTime(3000)
      return statistics.outcomes(stretch)
    }
    const overviews = createOverviewCache(withStore({ statistics: { ...statistics, outcomes } }))
    const first = await overviews.read(WISH)
    vi.advanceTimersByTime(50_000)
    expect(await overviews.read(WISH)).toBe(first)
    vi.advanceTimersByTime(10_000)
    expect(await overviews.read(WISH)).not.toBe(first)
    vi.useRealTimers()
  })

  it('is shared by concurrent requests, and computed again after an error', async () => {
    let isAway = true
    const { statistics } = server.context.store
    const outcomes: typeof statistics.outcomes = async (stretch) => {
      if (isAway) throw new Error('the database is away')
      return statistics.outcomes(stretch)
    }
    const overviews = createOverviewCache(withStore({ statistics: { ...statistics, outcomes } }))
    await expect(overviews.read(WISH)).rejects.toThrow('away')
    isAway = false
    const [one, other] = await Promise.all([overviews.read(WISH), overviews.read(WISH)])
    expect(one).toBe(other)
  })
})
