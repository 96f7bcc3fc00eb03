import { describe, expect, it } from 'vitest'
import { AdminError } from '../contract/admin-error.ts'
import { createThrottle, type Throttle, type ThrottleKey } from './throttle.ts'
import { createSignInThrottleKeys } from './throttle-keys.ts'

const MARK: ThrottleKey = { key: 'a', free: 5, longestWaitMs: 300_000 }

/** A clock that is set by hand. */
function createClock() {
  let at = 1_790_000_000_000
  return {
    now: () => at,
    pass: (ms: number) => {
      at += ms
    },
  }
}

/** How long the caller has to wait, in seconds; 0 when the try is let in. */
function waitOf(throttle: Throttle, ...throttleKeys: ThrottleKey[]): number {
  try {
    throttle.begin(throttleKeys)
    return 0
  } catch (error) {
    return Number(error instanceof AdminError && error.headers[1])
  }
}

const fail = (throttle: Throttle, times: number, ...throttleKeys: ThrottleKey[]) => {
  for (let time = 0; time < times; time++) throttle.begin(throttleKeys)
}

describe('failures', () => {
  it('cost 1, 2, 4 … seconds after the fifth, and never more than the longest wait', () => {
    const clock = createClock()
    const throttle = createThrottle(clock.now)
    fail(throttle, 4, MARK)
    const waits: number[] = []
    for (let time = 0; time < 12; time++) {
      throttle.begin([MARK])
      waits.push(waitOf(throttle, MARK))
      clock.pass((waits.at(-1) ?? 0) * 1000)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  })

  it('that come while there is a wait do not make it longer', () => {
    const clock = createClock()
    const throttle = createThrottle(clock.now)
    fail(throttle, 5, MARK)
    for (let time = 0; time < 100; time++) expect(waitOf(throttle, MARK)).toBe(1)
    clock.pass(1000)
    expect(waitOf(throttle, MARK)).toBe(0)
  })

  it('make wait from the moment they are known', () => {
    const clock = createClock()
    const throttle = createThrottle(clock.now)
    fail(throttle, 4, MARK)
    const last = throttle.begin([MARK])
    clock.pass(900)
    last.fail()
    clock.pass(900)
    expect(waitOf(throttle, MARK)).toBe(1)
  })

  it('are forgotten after an hour', () => {
    const clock = createClock()
    const throttle = createThrottle(clock.now)
    fail(throttle, 4, MARK)
    clock.pass(3_600_000)
    fail(throttle, 4, MARK)
    expect(waitOf(throttle, MARK)).toBe(0)
  })

  it('are forgotten with the right password, but others by the same throttleKey are not', () => {
    const throttle = createThrottle(createClock().now)
    const [pair, address] = [MARK, { ...MARK, key: 'address' }]
    fail(throttle, 3, pair, address)
    throttle.begin([pair, address]).succeed()
    // Else an account of one's own would be a way to guess at others without end.
    throttle.begin([{ ...MARK, key: 'own' }, address]).succeed()
    fail(throttle, 2, { ...MARK, key: 'other' }, address)
    expect([waitOf(throttle, address), waitOf(throttle, pair)]).toEqual([1, 0])
  })

  it('do not count when nothing was compared', () => {
    const throttle = createThrottle(createClock().now)
    for (let time = 0; time < 20; time++) throttle.begin([MARK]).withdraw()
    fail(throttle, 4, MARK)
    expect(waitOf(throttle, MARK)).toBe(0)
  })

  it('are kept of a bounded number of throttleKeys, the latest', () => {
    const throttle = createThrottle(createClock().now)
    fail(throttle, 5, { ...MARK, key: 'first' })
    fail(throttle, 5, MARK)
    for (let time = 0; time < 9999; time++) throttle.begin([{ ...MARK, key: String(time) }])
    expect([waitOf(throttle, MARK), waitOf(throttle, { ...MARK, key: 'first' })]).toEqual([1, 0])
  })
})

describe('signing in', () => {
  const guessFromEverywhere = (
    throttle: Throttle,
    { toThrottleKeys }: ReturnType<typeof createSignInThrottleKeys>,
    times = 50,
  ) => repeat(times, (time) => throttle.begin(toThrottleKeys('ada', `203.0.113.${time}`)))
  const repeat = (times: number, work: (time: number) => unknown) => {
    for (let time = 0; time < times; time++) work(time)
  }

  it('waits for who guesses from many addresses, shortly', () => {
    const clock = createClock()
    const [throttle, throttleKeys] = [createThrottle(clock.now), createSignInThrottleKeys()]
    guessFromEverywhere(throttle, throttleKeys)
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '198.51.100.1'))).toBe(1)
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('bola', '198.51.100.1'))).toBe(0)
  })

  it('does not keep out a browser that has signed in before, and counts its own failures', () => {
    const [throttle, throttleKeys] = [createThrottle(createClock().now), createSignInThrottleKeys()]
    const own = throttleKeys.toThrottleKeys('ada', '198.51.100.1', 'browser')
    repeat(5, () => throttle.begin(throttleKeys.toThrottleKeys('ada', '198.51.100.1')))
    guessFromEverywhere(throttle, throttleKeys, 45)
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '198.51.100.1'))).toBe(1)
    fail(throttle, 4, ...own)
    expect(waitOf(throttle, ...own)).toBe(0)
    expect(waitOf(throttle, ...own)).toBe(1)
  })

  it('delays an address that tries many names', () => {
    const [throttle, throttleKeys] = [createThrottle(createClock().now), createSignInThrottleKeys()]
    repeat(30, (time) => throttle.begin(throttleKeys.toThrottleKeys(`name${time}`, '203.0.113.1')))
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '203.0.113.1'))).toBe(1)
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '203.0.113.2'))).toBe(0)
  })

  it('is free again for a name whose password was set anew', () => {
    const [throttle, throttleKeys] = [createThrottle(createClock().now), createSignInThrottleKeys()]
    repeat(5, () => throttle.begin(throttleKeys.toThrottleKeys('ada', '203.0.113.1')))
    throttle.forgive(throttleKeys.isForName('ad'))
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '203.0.113.1'))).toBe(1)
    throttle.forgive(throttleKeys.isForName('ada'))
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '203.0.113.1'))).toBe(0)
  })
})
