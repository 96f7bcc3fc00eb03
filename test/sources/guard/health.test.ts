import { describe, expect, it } from 'vitest'
import { createHealth } from '../../../src/sources/guard/call-record.ts'

describe('health', () => {
  it('covers the last five minutes, so a vendor that has recovered is not reported as failing', () => {
    let now = 0
    const health = createHealth(() => now)
    for (let call = 0; call < 200; call++) health.record(false, 8000)
    expect(health.read()).toMatchObject({ calls: 200, failures: 200, recentCalls: 200, errorRate: 1 })
    now += 3 * 60_000
    for (let call = 0; call < 50; call++) health.record(true, 100)
    expect(health.read().errorRate).toBe(0.8)
    now += 3 * 60_000
    expect(health.read()).toMatchObject({ calls: 250, failures: 200, recentCalls: 50, errorRate: 0 })
    now += 3 * 60_000
    expect(health.read()).toMatchObject({ calls: 250, recentCalls: 0, errorRate: 0, p50: null, p99: null })
  })

  it('measures times with an error of at most 5 %', () => {
    const health = createHealth(() => 0)
    for (let ms = 1; ms <= 1000; ms++) health.record(true, ms)
    const { p50, p95, p99 } = health.read()
    for (const [found, exact] of [
      [p50, 500],
      [p95, 950],
      [p99, 990],
    ] as const) {
      expect(found).toBeGreaterThan(exact * 0.94)
      expect(found).toBeLessThan(exact * 1.06)
    }
  })

  it('is empty at the start', () => {
    expect(createHealth(() => 0).read()).toEqual({
      calls: 0,
      failures: 0,
      sourceFailures: 0,
      skipped: 0,
      recentCalls: 0,
      errorRate: 0,
      unanswered: 0,
      unansweredRate: 0,
      p50: null,
      p95: null,
      p99: null,
      lastSuccessAt: null,
    })
  })

  it('keeps a call for five minutes, in steps of ten seconds', () => {
    let now = 10_000
    const health = createHealth(() => now)
    health.record(false, 8000)
    health.recordSkip()
    now = 309_999
    expect(health.read()).toMatchObject({ recentCalls: 1, errorRate: 1, unanswered: 2 })
    now = 310_000
    expect(health.read()).toMatchObject({ recentCalls: 0, errorRate: 0, unanswered: 0, p50: null })
    health.record(true, 1)
    expect(health.read()).toMatchObject({ calls: 2, recentCalls: 1, errorRate: 0, unanswered: 0, p99: 1 })
  })

  it('tells failures of the source from those that may be about one person, and counts what was skipped', () => {
    const health = createHealth(() => 0)
    health.record(true, 5)
    expect(health.read()).toMatchObject({ unanswered: 0, unansweredRate: 0 })
    health.record(false, 5)
    health.record(false, 5, true)
    health.record(false, 5, false)
    health.recordSkip()
    expect(health.read()).toMatchObject({ calls: 4, failures: 3, sourceFailures: 2, skipped: 1 })
    expect(health.read()).toMatchObject({ errorRate: 0.75, unanswered: 3, unansweredRate: 0.6 })
  })

  it('says when the source last answered', () => {
    const health = createHealth(() => 0)
    health.record(false, 5)
    expect(health.read().lastSuccessAt).toBeNull()
    const before = Date.now()
    health.record(true, 5)
    const at = Date.parse(health.read().lastSuccessAt as string)
    expect(at).toBeGreaterThanOrEqual(before)
    expect(at).toBeLessThanOrEqual(Date.now())
  })

  it('takes the middle of few calls, and keeps times without a limit in its last step', () => {
    const toMedian = (...times: number[]) => {
      const health = createHealth(() => 0)
      for (const ms of times) health.record(true, ms)
      return health.read().p50 as number
    }
    expect([toMedian(0), toMedian(1), toMedian(2)]).toEqual([1, 1, 2])
    expect(toMedian(10, 1000)).toBeGreaterThan(900)
    const middle = toMedian(10, 100, 1000)
    expect(middle).toBeGreaterThan(94)
    expect(middle).toBeLessThan(106)
    expect(toMedian(1e9)).toBe(toMedian(40_000))
    expect(toMedian(1e9)).toBeGreaterThan(25_000)
  })
})
