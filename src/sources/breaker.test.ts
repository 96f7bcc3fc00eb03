import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBreaker } from './breaker.ts'

const at = (start = 0) => {
  let time = start
  const wait = (ms: number) => {
    time += ms
  }
  return { now: () => time, wait }
}

const ask = (breaker: ReturnType<typeof createBreaker>, succeeded: boolean) => {
  const admitted = breaker.admit()
  if (admitted) breaker.settle(admitted, succeeded)
  return admitted
}

describe('a breaker', () => {
  it('opens with the twentieth call when half of them failed, not before', () => {
    const breaker = createBreaker(() => 0)
    for (let call = 0; call < 19; call++) ask(breaker, call % 2 === 0)
    expect(breaker.state()).toBe('closed')
    ask(breaker, false)
    expect(breaker.state()).toBe('open')
    expect(breaker.admit()).toBeUndefined()
  })

  it('stays closed while fewer than half fail', () => {
    const breaker = createBreaker(() => 0)
    for (let call = 0; call < 1000; call++) ask(breaker, call % 5 > 1)
    expect(breaker.state()).toBe('closed')
  })

  it('forgets what is older than thirty seconds', () => {
    const clock = at()
    const breaker = createBreaker(clock.now)
    for (let call = 0; call < 19; call++) ask(breaker, false)
    clock.wait(31_000)
    ask(breaker, false)
    expect(breaker.state()).toBe('closed')
  })

  it('lets one probe through at a time, and closes after three that succeed', () => {
    const clock = at()
    const breaker = createBreaker(clock.now)
    for (let call = 0; call < 20; call++) ask(breaker, false)
    clock.wait(10_000)
    expect(breaker.state()).toBe('half_open')
    const probe = breaker.admit()
    expect(probe).toBe('probe')
    expect(breaker.admit()).toBeUndefined()
    breaker.settle('probe', true)
    expect(ask(breaker, true)).toBe('probe')
    expect(ask(breaker, true)).toBe('probe')
    expect(breaker.state()).toBe('closed')
    expect(ask(breaker, false)).toBe('usual')
    expect(breaker.state()).toBe('closed')
  })

  it('opens again when a probe fails, and a probe that was not needed can be given back', () => {
    const clock = at()
    const breaker = createBreaker(clock.now)
    for (let call = 0; call < 20; call++) ask(breaker, false)
    clock.wait(10_000)
    breaker.release(breaker.admit() as 'probe')
    expect(ask(breaker, false)).toBe('probe')
    expect(breaker.state()).toBe('open')
  })

  it('never lets more than one question in ten seconds through to a source that only fails', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 50, maxLength: 400 }), (waits) => {
        const clock = at(1_000_000)
        const breaker = createBreaker(clock.now)
        for (let call = 0; call < 20; call++) ask(breaker, false)
        const asked: number[] = []
        for (const wait of waits) {
          clock.wait(wait)
          if (ask(breaker, false)) asked.push(clock.now())
        }
        const gaps = asked.slice(1).map((time, index) => time - (asked[index] ?? 0))
        expect(Math.min(10_000, ...gaps)).toBe(10_000)
      }),
      { numRuns: 50 },
    )
  })
})
