import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Charts } from '../../src/admin/charts.ts'
import type { Overview } from '../../src/admin/overview-figures.ts'
import { HOUR_MS } from '../../src/contract/time.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { bearer } from '../app.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

let at: TestConsole
let vendor: StandIn
let viewer: string
let key: string
beforeAll(async () => {
  vendor = await openStandIn(dojah)
  at = await openTestConsole({ TABBAT_NIN_SOURCES: 'dojah', TABBAT_DOJAH_PRICE: '50', ...vendor.settings })
  viewer = await at.openSession('viewer')
  key = await at.createKey({ name: 'loans app', mode: 'live' })
  for (const nin of ['61000000001', '61000000002', '61000000003']) await verify(key, nin)
  vendor.fail('failing')
  await verify(key, '61000000004')
  vendor.fail(undefined)
  await verify(SANDBOX_KEY, '61000000005')
  await Promise.all([at.context.sourceCalls.flush(), at.context.latencies.flush()])
})
afterAll(async () => {
  await at.close()
  await vendor.close()
})

const verify = (bearerKey: string, nin: string) =>
  at.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: bearer(bearerKey),
    payload: { nin, phone: `0${toPhoneCoreOf(nin)}` },
  })

const get = (path: string) => at.request(path, { cookie: viewer })
const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)

describe('the charts', () => {
  it('have calls, errors, latency and cost of each vendor, in total and in each step', async () => {
    const { steps, vendors } = (await get('/admin/charts?range=hour&mode=live')).json() as unknown as Charts
    const [only, ...others] = vendors
    expect(others).toEqual([])
    // A failed call may have been billed, and is counted as such.
    expect(only).toMatchObject({ source: 'dojah', calls: 4, errors: 1, kobo: 20_000 })
    expect(only?.latency?.p95_ms).toBeGreaterThan(0)
    expect([steps.length, only?.steps.length]).toEqual([60, 60])
    expect(sum(only?.steps.map(({ calls }) => calls) ?? [])).toBe(4)
    expect(sum(only?.steps.map(({ errors }) => errors) ?? [])).toBe(1)
    expect(only?.steps.filter(({ p95_ms }) => p95_ms !== null).length).toBeGreaterThan(0)
  })

  it('have the busiest keys, of the mode that was asked for', async () => {
    const live = (await get('/admin/charts?range=day&mode=live')).json() as unknown as Charts
    expect(live.keys.map(({ name, steps }) => [name, steps.length, sum(steps)])).toEqual([
      ['loans app', 24, 4],
    ])
    const all = (await get('/admin/charts?range=day&mode=all')).json() as unknown as Charts
    expect(all.keys.map(({ name }) => name).sort()).toEqual(['loans app', 'public sandbox key'])
  })
})

describe('the overview', () => {
  const now = Date.now()
  const toIso = (time: number) => new Date(time).toISOString()

  it('has the latency of each step, and failures of each key', async () => {
    const overview = (await get('/admin/overview?range=hour&mode=live')).json() as unknown as Overview
    expect(overview.keys).toEqual([expect.objectContaining({ verifications: 4, failed: 1 })])
    const measured = overview.steps.filter(({ latency }) => latency !== null)
    expect(measured.length).toBeGreaterThan(0)
    for (const { latency } of measured) expect(latency?.p99_ms).toBeGreaterThanOrEqual(latency?.p50_ms ?? 0)
  })

  it('compares with the period before, of the same length', async () => {
    const overview = (await get('/admin/overview?range=hour&mode=live')).json() as unknown as Overview
    expect(overview.before).toMatchObject({
      to: overview.from,
      totals: { verified: 0, not_verified: 0, failed: 0 },
      answered_rate: null,
      verified_rate: null,
      latency: null,
    })
    expect(overview.before?.steps.length).toBe(overview.steps.length)
    // A range that ended before the calls, of the same length: its successor contains them.
    const later = new URLSearchParams({
      from: toIso(now + HOUR_MS),
      to: toIso(now + 2 * HOUR_MS),
      mode: 'live',
    })
    const next = (await get(`/admin/overview?${later}`)).json() as unknown as Overview
    expect(sum(Object.values(next.before?.totals ?? {}))).toBe(0)
  })

  it("takes a range of one's own, until now or another time", async () => {
    const open = new URLSearchParams({ from: toIso(now - HOUR_MS), mode: 'live' })
    expect((await get(`/admin/overview?${open}`)).json()).toMatchObject({
      range: 'custom',
      totals: { verified: 3, failed: 1 },
    })
    const past = new URLSearchParams({ from: toIso(now - 30 * HOUR_MS), to: toIso(now - 6 * HOUR_MS) })
    expect((await get(`/admin/overview?${past}`)).json()).toMatchObject({
      step_seconds: 3600,
      totals: { verified: 0, failed: 0 },
    })
  })

  it.each([
    [{ to: '2026-01-01T00:00:00Z' }, 'from is required with to'],
    [{ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 'to must be later than from'],
    [{ from: '2999-01-01T00:00:00Z' }, 'from must be in the past'],
    [{ from: '1999-01-01T00:00:00Z' }, 'from must be at most 400 days before the end'],
    [{ from: 'yesterday' }, 'from must match format "date-time"'],
  ])('refuses %j, also as a stream', async (range, problem) => {
    for (const path of ['/admin/overview', '/admin/overview/events', '/admin/charts']) {
      const answer = await get(`${path}?${new URLSearchParams(range)}`)
      expect([path, answer.status, Object.values(answer.json().errors as object)]).toEqual([
        path,
        422,
        [[problem]],
      ])
    }
  })
})
