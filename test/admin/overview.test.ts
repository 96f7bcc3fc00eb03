import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createOverviewCache, createOverviewReader } from '../../src/admin/overview-cache.ts'
import { readOverview } from '../../src/admin/overview-figures.ts'
import type { Context } from '../../src/context/context.ts'
import type { Store } from '../../src/context/store.ts'
import { openTestApp, PHONE, type TestApp } from '../app.ts'

const QUERY = { range: 'day', mode: 'all' } as const

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
    const { overview } = await readOverview(withStore({ keys: { ...keys, list } }), QUERY)
    expect(overview.keys).toEqual([expect.objectContaining({ name: 'the shop', verifications: 1 })])
  })

  it('is kept longer if computing it takes longer, but at most 10 seconds', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const { statistics } = server.context.store
    const outcomes: typeof statistics.outcomes = (stretch) => {
      vi.advanceTimersByTime(3000)
      return statistics.outcomes(stretch)
    }
    const cache = createOverviewCache(
      createOverviewReader(withStore({ statistics: { ...statistics, outcomes } })),
    )
    const first = await cache.read(QUERY)
    vi.advanceTimersByTime(9_000)
    expect(await cache.read(QUERY)).toBe(first)
    vi.advanceTimersByTime(2_000)
    expect(await cache.read(QUERY)).not.toBe(first)
    vi.useRealTimers()
  })

  it('is shared by concurrent requests, and computed again after an error', async () => {
    let isDown = true
    const { statistics } = server.context.store
    const outcomes: typeof statistics.outcomes = async (stretch) => {
      if (isDown) throw new Error('the database is down')
      return statistics.outcomes(stretch)
    }
    const cache = createOverviewCache(
      createOverviewReader(withStore({ statistics: { ...statistics, outcomes } })),
    )
    await expect(cache.read(QUERY)).rejects.toThrow('is down')
    isDown = false
    const [one, other] = await Promise.all([cache.read(QUERY), cache.read(QUERY)])
    expect(one).toBe(other)
  })

  it('goes on from memory in an outage only if it was read shortly before', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    let isDown = false
    const { statistics } = server.context.store
    const outcomes: typeof statistics.outcomes = async (stretch) => {
      if (isDown) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
      return statistics.outcomes(stretch)
    }
    const read = createOverviewReader(withStore({ statistics: { ...statistics, outcomes } }))
    const old = { ...QUERY, mode: 'live' } as const
    await read(old)
    vi.advanceTimersByTime(61_000)
    const { answers, generated_at, stale_since } = await read(QUERY)
    expect(stale_since).toBe(null)
    isDown = true
    await expect(read(old)).rejects.toThrow('down')
    // An outage may last: what callers get meanwhile is in memory.
    vi.advanceTimersByTime(3_600_000)
    expect(await read(QUERY)).toMatchObject({ answers, stale_since: generated_at })
    expect(await read(QUERY)).toMatchObject({ answers, stale_since: generated_at })
    isDown = false
    expect(await read(old)).toMatchObject({ stale_since: null })
    vi.useRealTimers()
  })

  it('has in an outage what was written after it was read last, once', async () => {
    let isDown = false
    const { statistics } = server.context.store
    const outcomes: typeof statistics.outcomes = async (stretch) => {
      if (isDown) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
      return statistics.outcomes(stretch)
    }
    const context = withStore({ statistics: { ...statistics, outcomes } })
    const at = new Date().toISOString().slice(0, 10)
    const late = {
      span: 'day' as const,
      at,
      node: 'late',
      mode: 'live',
      code: 'rate_limited',
      count: 9,
      unwritten: 2,
    }
    let isBusy = true
    const inMemory = {
      ...context.inMemory,
      // Another process. While it does not answer, it is not known what of its count is written.
      answers: async () => [...(await context.inMemory.answers()), ...(isBusy ? [] : [late])],
    }
    const read = createOverviewReader({ ...context, inMemory })
    const { count, flush } = server.context.answers
    const readFigures = async () => {
      const { failed, limited } = (await read({ range: 'month', mode: 'live' })).answers
      return { failed, limited }
    }
    count('live', 'audit_unavailable')
    await flush()
    expect(await readFigures()).toEqual({ failed: 1, limited: 0 })
    count('live', 'audit_unavailable')
    await flush()
    isDown = true
    count('live', 'audit_unavailable')
    expect(await readFigures()).toEqual({ failed: 3, limited: 0 })
    for (const busy of [false, true, false]) {
      isBusy = busy
      expect(await readFigures()).toEqual({ failed: 3, limited: 2 })
    }
    count('live', 'audit_unavailable')
    expect(await readFigures()).toEqual({ failed: 4, limited: 2 })
    await flush()
    isDown = false
    expect(await readFigures()).toEqual({ failed: 4, limited: 2 })
  })
})
