import { describe, expect, it } from 'vitest'
import { AdminError } from '../contract/admin-error.ts'
import { createThrottle, type Throttle, type ThrottleKey } from './throttle.ts'
import { createSignInThrottleKeys } from './throttle-keys.ts'

const KEY: ThrottleKey = { key: 'a', free: 5, longestWaitMs: 300_000 }

/** A clock that the test moves. */
function createClock() {
  let at = 1_790_000_000_000
  return {
    now: () => at,
    pass: (ms: number) => {
      at += ms
    },
  }
}

/** Seconds until the next attempt is allowed; 0 when it is allowed now. */
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

describe('wrong passwords', () => {
  it('cause waits of 1, 2, 4 … seconds from the fifth on, up to the maximum', () => {
    const clock = createClock()
    const throttle = createThrottle(clock.now)
    fail(throttle, 4, KEY)
    const waits: number[] = []
    for (let time = 0; time < 12; time++) {
      throttle.begin([KEY])
      waits.push(waitOf(throttle, KEY))
      clock.pass((waits.at(-1) ?? 0) * 1000)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  })

  it('during a wait do not make it longer', () => {
    const clock = createClock()
    const throttle = createThrottle(clock.now)
    fail(throttle, 5, KEY)
    for (let time = 0; time < 100; time++) expect(waitOf(throttle, KEY)).toBe(1)
    clock.pass(1000)
    expect(waitOf(throttle, KEY)).toBe(0)
  })

  it('start the wait when the result is known', () => {
    const clock = createClock()
    const throttle = createThrottle(clock.now)
    fail(throttle, 4, KEY)
    const last = throttle.begin([KEY])
    clock.pass(900)
    last.fail()
    clock.pass(900)
    expect(waitOf(throttle, KEY)).toBe(1)
  })

  it('are forgotten after an hour without another', () => {
    const clock = createClock()
    const throttle = createThrottle(clock.now)
    fail(throttle, 4, KEY)
    clock.pass(3_600_000)
    fail(throttle, 4, KEY)
    expect(waitOf(throttle, KEY)).toBe(0)
  })

  it('are reset by the right password only for the name and address that sent it', () => {
    const throttle = createThrottle(createClock().now)
    const [pair, address] = [KEY, { ...KEY, key: 'address' }]
    fail(throttle, 3, pair, address)
    throttle.begin([pair, address]).succeed()
    // Otherwise an attacker could use an own account to guess the passwords of others without limit.
    throttle.begin([{ ...KEY, key: 'own' }, address]).succeed()
    fail(throttle, 2, { ...KEY, key: 'other' }, address)
    expect([waitOf(throttle, address), waitOf(throttle, pair)]).toEqual([1, 0])
  })

  it('are not counted when nothing was compared', () => {
    const throttle = createThrottle(createClock().now)
    for (let time = 0; time < 20; time++) throttle.begin([KEY]).withdraw()
    fail(throttle, 4, KEY)
    expect(waitOf(throttle, KEY)).toBe(0)
  })

  it('are counted for a bounded number of keys, the most recent', () => {
    const throttle = createThrottle(createClock().now)
    fail(throttle, 5, { ...KEY, key: 'first' })
    fail(throttle, 5, KEY)
    for (let time = 0; time < 9999; time++) throttle.begin([{ ...KEY, key: String(time) }])
    expect([waitOf(throttle, KEY), waitOf(throttle, { ...KEY, key: 'first' })]).toEqual([1, 0])
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

  it('has a short wait when one name is guessed from many addresses', () => {
    const clock = createClock()
    const [throttle, throttleKeys] = [createThrottle(clock.now), createSignInThrottleKeys()]
    guessFromEverywhere(throttle, throttleKeys)
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '198.51.100.1'))).toBe(1)
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('bola', '198.51.100.1'))).toBe(0)
  })

  it('does not lock out a browser that has signed in before, and counts its failures separately', () => {
    const [throttle, throttleKeys] = [createThrottle(createClock().now), createSignInThrottleKeys()]
    const own = throttleKeys.toThrottleKeys('ada', '198.51.100.1', 'browser')
    repeat(5, () => throttle.begin(throttleKeys.toThrottleKeys('ada', '198.51.100.1')))
    guessFromEverywhere(throttle, throttleKeys, 45)
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '198.51.100.1'))).toBe(1)
    fail(throttle, 4, ...own)
    expect(waitOf(throttle, ...own)).toBe(0)
    expect(waitOf(throttle, ...own)).toBe(1)
  })

  it('has a wait for an address that tries many names', () => {
    const [throttle, throttleKeys] = [createThrottle(createClock().now), createSignInThrottleKeys()]
    repeat(30, (time) => throttle.begin(throttleKeys.toThrottleKeys(`name${time}`, '203.0.113.1')))
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '203.0.113.1'))).toBe(1)
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '203.0.113.2'))).toBe(0)
  })

  it('has no wait after a reset of the counters of that name', () => {
    const [throttle, throttleKeys] = [createThrottle(createClock().now), createSignInThrottleKeys()]
    repeat(5, () => throttle.begin(throttleKeys.toThrottleKeys('ada', '203.0.113.1')))
    throttle.reset(throttleKeys.isForName('ad'))
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '203.0.113.1'))).toBe(1)
    throttle.reset(throttleKeys.isForName('ada'))
    expect(waitOf(throttle, ...throttleKeys.toThrottleKeys('ada', '203.0.113.1'))).toBe(0)
  })
})
