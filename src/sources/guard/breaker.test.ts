import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Breaker, createBreaker } from './breaker.ts'

const at = (start = 0) => {
  let time = start
  const wait = (ms: number) => {
    time += ms
  }
  return { now: () => time, wait }
}

const ask = (breaker: Breaker, succeeded: boolean) => {
  const admitted = breaker.admit()
  if (admitted) breaker.settle(admitted, succeeded ? 'success' : 'failure')
  return admitted
}

/** A usual call that is silent for too long, and is given up at last. */
const hang = (breaker: Breaker) => {
  const admitted = breaker.admit()
  if (admitted === 'usual') breaker.recordHang()
  if (admitted) breaker.settle(admitted, 'timeout')
  return admitted
}

describe('a breaker', () => {
  it('opens with the twentieth call when half of them failed, not before', () => {
    const breaker = createBreaker({ now: () => 0 })
    for (let call = 0; call < 19; call++) ask(breaker, call % 2 === 0)
    expect(breaker.state()).toBe('closed')
    ask(breaker, false)
    expect(breaker.state()).toBe('open')
    expect(breaker.admit()).toBeUndefined()
  })

  it('stays closed while fewer than half fail', () => {
    const breaker = createBreaker({ now: () => 0 })
    for (let call = 0; call < 1000; call++) ask(breaker, call % 5 > 1)
    expect(breaker.state()).toBe('closed')
  })

  it('forgets what is older than thirty seconds', () => {
    const clock = at()
    const breaker = createBreaker({ now: clock.now })
    for (let call = 0; call < 19; call++) ask(breaker, call % 4 === 0)
    clock.wait(31_000)
    ask(breaker, true)
    ask(breaker, false)
    expect(breaker.state()).toBe('closed')
  })

  it('opens after five failures in a row, however rare the calls are', () => {
    const clock = at()
    const breaker = createBreaker({ now: clock.now })
    for (let call = 0; call < 4; call++) {
      ask(breaker, false)
      clock.wait(360_000)
    }
    ask(breaker, true)
    for (let call = 0; call < 4; call++) ask(breaker, false)
    expect(breaker.state()).toBe('closed')
    ask(breaker, false)
    expect(breaker.state()).toBe('open')
  })

  it('opens after three calls in a row without an answer, and is suspicious after the first', () => {
    const clock = at()
    const breaker = createBreaker({ now: clock.now })
    for (let call = 0; call < 2; call++) {
      expect(hang(breaker)).toBe('usual')
      expect(breaker.isSuspect()).toBe(true)
      clock.wait(360_000)
    }
    expect(breaker.state()).toBe('closed')
    hang(breaker)
    expect(breaker.state()).toBe('open')
  })

  it('probes in time although the clock of the wall is set back an hour', () => {
    const [now, date] = [performance.now, Date.now]
    const breaker = createBreaker()
    try {
      for (let call = 0; call < 5; call++) ask(breaker, false)
      expect(breaker.state()).toBe('open')
      Date.now = () => date() - 3_600_000
      performance.now = () => now.call(performance) + 7000
      expect(breaker.state()).toBe('half_open')
    } finally {
      Date.now = date
      performance.now = now
    }
  })

  it('is not suspicious of a source that answers, even with an error', () => {
    const breaker = createBreaker({ now: () => 0 })
    for (let call = 0; call < 4; call++) {
      hang(breaker)
      hang(breaker)
      ask(breaker, call % 2 === 0)
      expect(breaker.isSuspect()).toBe(false)
      ask(breaker, true)
    }
    expect(breaker.state()).toBe('closed')
  })

  it('lets a probe through at once when a call is answered that seemed to hang', () => {
    const breaker = createBreaker({ now: () => 0 })
    for (let call = 0; call < 3; call++) breaker.recordHang()
    expect(breaker.admit()).toBeUndefined()
    breaker.settle('usual', 'success')
    expect(breaker.admit()).toBe('probe')
  })

  it('lets one probe through at a time, and closes after three that succeed', () => {
    const clock = at()
    const breaker = createBreaker({ now: clock.now, random: () => 0.5 })
    for (let call = 0; call < 20; call++) ask(breaker, false)
    clock.wait(10_000)
    expect(breaker.state()).toBe('half_open')
    const probe = breaker.admit()
    expect(probe).toBe('probe')
    expect(breaker.admit()).toBeUndefined()
    breaker.settle('probe', 'success')
    expect(ask(breaker, true)).toBe('probe')
    expect(ask(breaker, true)).toBe('probe')
    expect(breaker.state()).toBe('closed')
    expect(ask(breaker, false)).toBe('usual')
    expect(breaker.state()).toBe('closed')
  })

  it('opens again when a probe fails, and a probe that was not needed can be given back', () => {
    const clock = at()
    const breaker = createBreaker({ now: clock.now, random: () => 0.5 })
    for (let call = 0; call < 20; call++) ask(breaker, false)
    clock.wait(10_000)
    breaker.release(breaker.admit() as 'probe')
    expect(ask(breaker, false)).toBe('probe')
    expect(breaker.state()).toBe('open')
  })

  it('waits twice as long with each opening, up to a minute, until the source has been well for one', () => {
    const clock = at(1000)
    const breaker = createBreaker({ now: clock.now, random: () => 0.5 })
    const waitForProbe = () => {
      const begun = clock.now()
      while (breaker.state() === 'open') clock.wait(500)
      return clock.now() - begun
    }
    for (let call = 0; call < 5; call++) ask(breaker, false)
    const waits = Array.from({ length: 6 }, () => {
      const wait = waitForProbe()
      ask(breaker, false)
      return wait
    })
    expect(waits).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000])
    const recover = () => {
      waitForProbe()
      for (let call = 0; call < 3; call++) ask(breaker, true)
      expect(breaker.state()).toBe('closed')
    }
    recover()
    clock.wait(59_000)
    for (let call = 0; call < 5; call++) ask(breaker, false)
    expect(waitForProbe()).toBe(60_000)
    recover()
    clock.wait(61_000)
    for (let call = 0; call < 5; call++) ask(breaker, false)
    expect(waitForProbe()).toBe(5000)
  })

  it('never lets a probe through before its time, which chance moves by a quarter', () => {
    const chance = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(chance, fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 50 }), (random, waits) => {
        const clock = at(1_000_000)
        const breaker = createBreaker({ now: clock.now, random: () => random })
        for (let call = 0; call < 5; call++) ask(breaker, false)
        const asked = [clock.now()]
        for (const wait of waits) {
          clock.wait(wait)
          if (ask(breaker, false)) asked.push(clock.now())
        }
        for (const [index, time] of asked.slice(1).entries()) {
          const wait = Math.min(5000 * 2 ** index, 60_000) * (0.75 + 0.5 * random)
          expect(time - (asked[index] ?? 0)).toBeGreaterThanOrEqual(wait - 0.001)
          expect(time - (asked[index] ?? 0)).toBeLessThan(wait + 3000)
        }
      }),
      { numRuns: 50 },
    )
  })
})
