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
})
