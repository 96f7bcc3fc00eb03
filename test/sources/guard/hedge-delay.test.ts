import { describe, expect, it } from 'vitest'
import { createHedgeDelay } from '../../../src/sources/guard/call-record.ts'

const open = (usualMs?: number) => {
  const clock = { ms: 0 }
  const delay = createHedgeDelay(() => clock.ms)
  for (let call = 0; usualMs !== undefined && call < 10; call++) delay.recordSuccess(usualMs)
  return { clock, ...delay }
}

describe('the hedge delay of a source', () => {
  it.each([
    [undefined, 2000, 1000],
    [10, 1000, 200],
    [400, 1600, 600],
    [2500, 4000, 1000],
    [5000, 7500, 1000],
  ])('with a median of %s ms is %i ms, and %i after it hung', (usualMs, usual, suspect) => {
    const { remainingMs } = open(usualMs)
    expect([remainingMs(0, false), remainingMs(0, true)]).toEqual([usual, suspect])
  })

  it('starts again, once, while the source answers other calls', () => {
    const { clock, remainingMs, recordAnswer } = open(10)
    clock.ms = 600
    recordAnswer()
    expect(remainingMs(0, false)).toBe(1000)
    clock.ms = 1500
    recordAnswer()
    expect(remainingMs(0, false)).toBe(500)
  })

  it('does not grow with a source that sometimes hangs and answers late', () => {
    const { remainingMs, recordSuccess } = open(10)
    for (let call = 0; call < 100; call++) recordSuccess(call % 3 === 0 ? 5000 : 10)
    expect(remainingMs(0, false)).toBe(1000)
  })

  it('is learned from five answers on, by their median', () => {
    const { remainingMs, recordSuccess } = open()
    for (const ms of [600, 300, 900, 400]) recordSuccess(ms)
    expect(remainingMs(0, false)).toBe(2000)
    recordSuccess(700)
    expect(remainingMs(0, false)).toBe(2400)
    for (const ms of [800, 800]) recordSuccess(ms)
    expect(remainingMs(0, false)).toBe(2800)
  })

  it('follows the last fifty answers', () => {
    const { remainingMs, recordSuccess } = open()
    for (let call = 0; call < 50; call++) recordSuccess(10)
    for (let call = 0; call < 24; call++) recordSuccess(600)
    expect(remainingMs(0, false)).toBe(1000)
    recordSuccess(600)
    expect(remainingMs(0, false)).toBe(2400)
  })

  it('has passed in part when the call began earlier', () => {
    const { clock, remainingMs } = open(10)
    clock.ms = 150
    expect([remainingMs(100, false), remainingMs(100, true)]).toEqual([950, 150])
  })
})
