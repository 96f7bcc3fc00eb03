import { describe, expect, it } from 'vitest'
import { createPatience } from './patience.ts'

const open = (usualMs?: number) => {
  const clock = { ms: 0 }
  const patience = createPatience(() => clock.ms)
  for (let call = 0; usualMs !== undefined && call < 10; call++) patience.recordSuccess(usualMs)
  return { clock, ...patience }
}

describe('patience with a source', () => {
  it.each([
    [undefined, 2000, 1000],
    [10, 1000, 200],
    [400, 1600, 600],
    [2500, 4000, 1000],
    [5000, 7500, 1000],
  ])('with a median of %s ms is %i ms, and %i after it hung', (usualMs, usual, suspect) => {
    const { leftMs } = open(usualMs)
    expect([leftMs(0, false), leftMs(0, true)]).toEqual([usual, suspect])
  })

  it('is lengthened, but only once, while the source answers others', () => {
    const { clock, leftMs, answered } = open(10)
    clock.ms = 600
    answered()
    expect(leftMs(0, false)).toBe(1000)
    clock.ms = 1500
    answered()
    expect(leftMs(0, false)).toBe(500)
  })

  it('is not taught to wait by a source that hangs at times and then answers late', () => {
    const { leftMs, recordSuccess } = open(10)
    for (let call = 0; call < 100; call++) recordSuccess(call % 3 === 0 ? 5000 : 10)
    expect(leftMs(0, false)).toBe(1000)
  })
})
