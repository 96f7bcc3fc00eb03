import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Breaker, createBreaker } from '../../../src/sources/guard/breaker.ts'

const createClock = (start = 0) => {
  let time = start
  const wait = (ms: number) => {
    time += ms
  }
  return { now: () => time, wait }
}

const call = (breaker: Breaker, succeeded: boolean) => {
  const admitted = breaker.admit()
  if (admitted) breaker.settle(admitted, succeeded ? 'success' : 'failure')
  return admitted
}

/** A usual call that hangs and times out. */
const hang = (breaker: Breaker) => {
  const admitted = breaker.admit()
  if (admitted === 'usual') breaker.recordHang()
  if (admitted) breaker.settle(admitted, 'timeout')
  return admitted
}

describe('a breaker', () => {
  it('opens with the twentieth call when half of them failed, not before', () => {
    const breaker = createBreaker({ now: () => 0 })
    for (let count = 0; count < 19; count++) call(breaker, count % 2 === 0)
    expect(breaker.state()).toBe('closed')
    call(breaker, false)
    expect(breaker.state()).toBe('open')
    expect(breaker.admit()).toBeUndefined()
  })

  it('stays closed while fewer than half fail', () => {
    const breaker = createBreaker({ now: () => 0 })
    for (let count = 0; count < 1000; count++) call(breaker, count % 5 > 1)
    expect(breaker.state()).toBe('closed')
  })

  it('ignores calls older than thirty seconds', () => {
    const clock = createClock()
    const breaker = createBreaker({ now: clock.now })
    for (let count = 0; count < 19; count++) call(breaker, count % 4 === 0)
    clock.wait(31_000)
    call(breaker, true)
    call(breaker, false)
    expect(breaker.state()).toBe('closed')
  })

  it('opens after five failures in a row, however rare the calls are', () => {
    const clock = createClock()
    const breaker = createBreaker({ now: clock.now })
    for (let count = 0; count < 4; count++) {
      call(breaker, false)
      clock.wait(360_000)
    }
    call(breaker, true)
    for (let count = 0; count < 4; count++) call(breaker, false)
    expect(breaker.state()).toBe('closed')
    call(breaker, false)
    expect(breaker.state()).toBe('open')
  })

  it('opens after three calls in a row without an answer, and suspects the source after the first', () => {
    const clock = createClock()
    const breaker = createBreaker({ now: clock.now })
    for (let count = 0; count < 2; count++) {
      expect(hang(breaker)).toBe('usual')
      expect(breaker.isSuspect()).toBe(true)
      clock.wait(360_000)
    }
    expect(breaker.state()).toBe('closed')
    hang(breaker)
    expect(breaker.state()).toBe('open')
  })

  it('probes in time after the wall clock is set back by an hour', () => {
    const [now, date] = [performance.now, Date.now]
    const breaker = createBreaker()
    try {
      for (let count = 0; count < 5; count++) call(breaker, false)
      expect(breaker.state()).toBe('open')
      Date.now = () => date() - 3_600_000
      performance.now = () => now.call(performance) + 7000
      expect(breaker.state()).toBe('half_open')
    } finally {
      Date.now = date
      performance.now = now
    }
  })

  it('does not suspect a source that answers, even with an error', () => {
    const breaker = createBreaker({ now: () => 0 })
    for (let count = 0; count < 4; count++) {
      hang(breaker)
      hang(breaker)
      call(breaker, count % 2 === 0)
      expect(breaker.isSuspect()).toBe(false)
      call(breaker, true)
    }
    expect(breaker.state()).toBe('closed')
  })

  it('admits a probe at once when a call that seemed to hang is answered', () => {
    const breaker = createBreaker({ now: () => 0 })
    for (let count = 0; count < 3; count++) breaker.recordHang()
    expect(breaker.admit()).toBeUndefined()
    breaker.settle('usual', 'success')
    expect(breaker.admit()).toBe('probe')
  })

  it('is not opened to probes by an old answer, when errors or a failed probe have opened it', () => {
    const clock = createClock()
    const breaker = createBreaker({ now: clock.now, random: () => 0.5 })
    for (let count = 0; count < 5; count++) call(breaker, false)
    breaker.settle('usual', 'success')
    expect(breaker.admit()).toBeUndefined()
    clock.wait(5000)
    expect(call(breaker, false)).toBe('probe')
    breaker.settle('usual', 'success')
    expect(breaker.admit()).toBeUndefined()
  })

  it('admits no second probe when an old call turns out not to have been made', () => {
    const clock = createClock()
    const breaker = createBreaker({ now: clock.now, random: () => 0.5 })
    for (let count = 0; count < 5; count++) call(breaker, false)
    clock.wait(5000)
    expect(breaker.admit()).toBe('probe')
    breaker.release('usual')
    expect(breaker.admit()).toBeUndefined()
  })

  it('admits one probe at a time, and closes after three that succeed', () => {
    const clock = createClock()
    const breaker = createBreaker({ now: clock.now, random: () => 0.5 })
    for (let count = 0; count < 20; count++) call(breaker, false)
    clock.wait(10_000)
    expect(breaker.state()).toBe('half_open')
    const probe = breaker.admit()
    expect(probe).toBe('probe')
    expect(breaker.admit()).toBeUndefined()
    breaker.settle('probe', 'success')
    expect(call(breaker, true)).toBe('probe')
    expect(call(breaker, true)).toBe('probe')
    expect(breaker.state()).toBe('closed')
    expect(call(breaker, false)).toBe('usual')
    expect(breaker.state()).toBe('closed')
  })

  it('opens again when a probe fails, and a probe that was not made can be released', () => {
    const clock = createClock()
    const breaker = createBreaker({ now: clock.now, random: () => 0.5 })
    for (let count = 0; count < 20; count++) call(breaker, false)
    clock.wait(10_000)
    breaker.release(breaker.admit() as 'probe')
    expect(call(breaker, false)).toBe('probe')
    expect(breaker.state()).toBe('open')
  })

  it('needs three probes in a row: those before a failed one do not count', () => {
    const clock = createClock()
    const breaker = createBreaker({ now: clock.now, random: () => 0.5 })
    for (let count = 0; count < 5; count++) call(breaker, false)
    clock.wait(5000)
    for (const succeeded of [true, true, false]) expect(call(breaker, succeeded)).toBe('probe')
    clock.wait(10_000)
    for (let count = 0; count < 2; count++) expect(call(breaker, true)).toBe('probe')
    expect(breaker.state()).toBe('half_open')
    call(breaker, true)
    expect(breaker.state()).toBe('closed')
  })

  it('reports that it opened and that it closed, once each, however many probes failed between', () => {
    const clock = createClock()
    const changes: string[] = []
    const breaker = createBreaker({ now: clock.now, random: () => 0.5, onChange: (to) => changes.push(to) })
    for (let count = 0; count < 5; count++) call(breaker, false)
    clock.wait(5000)
    call(breaker, false)
    expect(changes).toEqual(['open'])
    clock.wait(10_000)
    for (let count = 0; count < 3; count++) call(breaker, true)
    expect(changes).toEqual(['open', 'closed'])
  })

  it('starts afresh when it closes: earlier failures and hangs no longer count', () => {
    const clock = createClock()
    const breaker = createBreaker({ now: clock.now, random: () => 0 })
    const recover = () => {
      clock.wait(4000)
      for (let count = 0; count < 3; count++) call(breaker, true)
      expect(breaker.state()).toBe('closed')
    }
    for (let count = 0; count < 25; count++) call(breaker, count % 2 === 0)
    recover()
    expect(breaker.isSuspect()).toBe(false)
    for (let count = 0; count < 4; count++) call(breaker, false)
    expect(breaker.state()).toBe('closed')
    call(breaker, false)
    clock.wait(60_000)
    recover()
    for (let count = 0; count < 3; count++) hang(breaker)
    clock.wait(60_000)
    recover()
    expect(breaker.isSuspect()).toBe(false)
    for (let count = 0; count < 2; count++) hang(breaker)
    expect(breaker.state()).toBe('closed')
  })

  it('forgets a failure after thirty seconds, and not before', () => {
    const stateAfter = (waitMs: number) => {
      const clock = createClock(1_000_000)
      const breaker = createBreaker({ now: clock.now })
      for (let count = 0; count < 10; count++) call(breaker, count % 2 === 0)
      for (let count = 0; count < 9; count++) call(breaker, count % 2 === 0)
      clock.wait(waitMs)
      call(breaker, false)
      return breaker.state()
    }
    expect(stateAfter(29_000)).toBe('open')
    expect(stateAfter(30_000)).toBe('closed')
  })

  it('doubles the wait with each opening, up to a minute, until it has stayed closed for a minute', () => {
    const clock = createClock(1000)
    const breaker = createBreaker({ now: clock.now, random: () => 0.5 })
    const waitForProbe = () => {
      const begun = clock.now()
      while (breaker.state() === 'open') clock.wait(500)
      return clock.now() - begun
    }
    for (let count = 0; count < 5; count++) call(breaker, false)
    const waits = Array.from({ length: 6 }, () => {
      const wait = waitForProbe()
      call(breaker, false)
      return wait
    })
    expect(waits).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000])
    const recover = () => {
      waitForProbe()
      for (let count = 0; count < 3; count++) call(breaker, true)
      expect(breaker.state()).toBe('closed')
    }
    recover()
    clock.wait(59_000)
    for (let count = 0; count < 5; count++) call(breaker, false)
    expect(waitForProbe()).toBe(60_000)
    recover()
    clock.wait(61_000)
    for (let count = 0; count < 5; count++) call(breaker, false)
    expect(waitForProbe()).toBe(5000)
  })

  it('never admits a probe before the wait is over, with a random part of a quarter', () => {
    const fraction = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(
        fraction,
        fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 50 }),
        (random, waits) => {
          const clock = createClock(1_000_000)
          const breaker = createBreaker({ now: clock.now, random: () => random })
          for (let count = 0; count < 5; count++) call(breaker, false)
          const calledAt = [clock.now()]
          for (const wait of waits) {
            clock.wait(wait)
            if (call(breaker, false)) calledAt.push(clock.now())
          }
          for (const [index, time] of calledAt.slice(1).entries()) {
            const wait = Math.min(5000 * 2 ** index, 60_000) * (0.75 + 0.5 * random)
            expect(time - (calledAt[index] ?? 0)).toBeGreaterThanOrEqual(wait - 0.001)
            expect(time - (calledAt[index] ?? 0)).toBeLessThan(wait + 3000)
          }
        },
      ),
      { numRuns: 50 },
    )
  })
})
