import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { afterRunning, createRunningClock } from '../../src/telemetry/running-clock.ts'

/** A clock whose ticks come after these times; the last one has not come yet. */
function run(gaps: readonly number[], untilMs = 0) {
  const wall = { ms: 1000 }
  const clock = createRunningClock(() => wall.ms)
  for (const gap of gaps) {
    wall.ms += gap
    clock.tick()
  }
  wall.ms += untilMs
  return { wall, clock }
}

describe('the running clock', () => {
  it('does not count a standstill, before and after the tick that ends it', () => {
    expect(run([100, 100], 9000).clock.ranMs(1100)).toBe(100 + 250)
    expect(run([100, 100, 9000, 100]).clock.ranMs(1100)).toBe(100 + 250 + 100)
  })

  it('counts a loop that is only late', () => {
    expect(run([100, 240, 230, 250]).clock.ranMs(1000)).toBe(820)
  })

  it('counts only the part of a standstill that lies in the wait', () => {
    const { clock } = run([100, 9000])
    // It began at 1350 and ended at 10 100.
    expect(clock.ranMs(5000)).toBe(0)
    expect(clock.ranMs(10_100)).toBe(0)
  })

  it('counts standstills that come again and again, so that a caller is not held', () => {
    const { wall, clock } = run(Array.from({ length: 100 }, () => 1000))
    expect(clock.ranMs(1000)).toBe(wall.ms - 1000 - 750 - 2000)
  })

  it('goes on when the monotonic clock is set forth and back, as in a restored process', () => {
    const { wall, clock } = run([100, 100])
    const before = clock.now()
    for (const step of [16 * 60_000, -16 * 60_000, -1_000_000, 1_000_000]) {
      wall.ms += step
      clock.tick()
      expect(clock.now() - before).toBeGreaterThanOrEqual(0)
      expect(clock.now() - before).toBeLessThanOrEqual(500)
      expect(clock.ranMs(wall.ms)).toBe(0)
    }
    wall.ms -= 5000
    expect(clock.now() - before).toBeGreaterThanOrEqual(0)
  })

  it('never runs backwards, nor faster than the time', () => {
    const step = fc.record({ ms: fc.integer({ min: 0, max: 5000 }), isTick: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { wall, clock } = run([])
        for (const { ms, isTick } of steps) {
          const [now, ran] = [clock.now(), clock.ranMs(1000)]
          wall.ms += ms
          if (isTick) clock.tick()
          expect(clock.now() - now).toBeGreaterThanOrEqual(0)
          expect(clock.now() - now).toBeLessThanOrEqual(ms)
          expect(clock.ranMs(1000) - ran).toBeLessThanOrEqual(ms)
          expect(clock.ranMs(1000)).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })
})

it('a time that is over ends at once, without a warning of Node.js', async () => {
  const warnings: string[] = []
  const note = ({ name }: Error) => void warnings.push(name)
  process.on('warning', note)
  await new Promise<void>((resolve) => void afterRunning(-300, resolve))
  // Warnings come in a turn of their own.
  await new Promise((resolve) => void setImmediate(resolve))
  process.off('warning', note)
  expect(warnings).toEqual([])
})
