import { createSecretKey } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  createThrottle,
  type Throttle,
  type ThrottleKey,
  toSignInThrottleKeys,
} from '../../src/accounts/throttle.ts'
import type { Store } from '../../src/context/store.ts'
import { AdminError } from '../../src/contract/error.ts'
import { SQLITE } from '../engines.ts'

const SECRET = createSecretKey(Buffer.alloc(32, 7))
const KEY: ThrottleKey = { key: 'a', free: 5, maxWaitMs: 300_000 }

/** A clock that the test moves. PostgreSQL has its own: see test/accounts/throttle-table.test.ts. */
let at = 0
const pass = (ms: number) => {
  at += ms
}
let store: Store
let throttle: Throttle
beforeEach(async () => {
  at = 1_790_000_000_000
  store = await (await SQLITE.createPlace()).open()
  throttle = createThrottle(
    store.throttle,
    () => SECRET,
    () => at,
  )
})
afterEach(() => store.close())

/** Seconds until the next attempt is allowed; 0 when it is allowed now. */
const waitOf = (...throttleKeys: readonly ThrottleKey[]): Promise<number> =>
  throttle.begin(throttleKeys).then(
    () => 0,
    (error: unknown) => Number(error instanceof AdminError && error.headers[1]),
  )

const fail = (times: number, ...throttleKeys: readonly ThrottleKey[]) =>
  repeat(times, () => throttle.begin(throttleKeys))

async function repeat(times: number, work: (time: number) => Promise<unknown>): Promise<void> {
  for (let time = 0; time < times; time++) await work(time)
}

describe('wrong passwords', () => {
  it('cause waits of 1, 2, 4 … seconds from the fifth on, up to the maximum', async () => {
    await fail(4, KEY)
    const waits: number[] = []
    for (let time = 0; time < 12; time++) {
      await throttle.begin([KEY])
      waits.push(await waitOf(KEY))
      pass((waits.at(-1) ?? 0) * 1000)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  })

  it('during a wait do not make it longer', async () => {
    await fail(5, KEY)
    for (let time = 0; time < 100; time++) expect(await waitOf(KEY)).toBe(1)
    pass(1000)
    expect(await waitOf(KEY)).toBe(0)
  })

  it('start the wait when the result is known', async () => {
    await fail(4, KEY)
    const last = await throttle.begin([KEY])
    pass(900)
    await last.fail()
    pass(900)
    expect(await waitOf(KEY)).toBe(1)
  })

  it('are forgotten after an hour without another', async () => {
    await fail(4, KEY)
    pass(3_600_000)
    await fail(4, KEY)
    expect(await waitOf(KEY)).toBe(0)
  })

  it('are reset by the right password only for the name and address that sent it', async () => {
    const [pair, address] = [KEY, { ...KEY, key: 'address' }]
    await fail(3, pair, address)
    await (await throttle.begin([pair, address])).succeed()
    // Otherwise an attacker could use an own account to guess the passwords of others without limit.
    await (await throttle.begin([{ ...KEY, key: 'own' }, address])).succeed()
    await fail(2, { ...KEY, key: 'other' }, address)
    expect([await waitOf(address), await waitOf(pair)]).toEqual([1, 0])
  })

  it('are not counted when nothing was compared', async () => {
    await repeat(20, async () => (await throttle.begin([KEY])).withdraw())
    await fail(4, KEY)
    expect(await waitOf(KEY)).toBe(0)
  })

  it('are counted for a bounded number of keys, the most recent', async () => {
    await fail(5, { ...KEY, key: 'first' })
    pass(1)
    await fail(5, KEY)
    await store.database
      .prepare(
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9998)
         INSERT INTO sign_in_failures SELECT 'filler ' || n, NULL, 1, 0, $1 FROM numbers`,
      )
      .run(at)
    await throttle.begin([{ ...KEY, key: 'last' }])
    expect([await waitOf(KEY), await waitOf({ ...KEY, key: 'first' })]).toEqual([1, 0])
  })
})

describe('signing in', () => {
  const guessFromEverywhere = (times = 50) =>
    repeat(times, (time) => throttle.begin(toSignInThrottleKeys('ada', `203.0.113.${time}`, undefined)))

  it('has a short wait when one name is guessed from many addresses', async () => {
    await guessFromEverywhere()
    expect(await waitOf(...toSignInThrottleKeys('ada', '198.51.100.1', undefined))).toBe(1)
    expect(await waitOf(...toSignInThrottleKeys('bola', '198.51.100.1', undefined))).toBe(0)
  })

  it('does not lock out a browser that has signed in before, and counts its failures separately', async () => {
    const own = toSignInThrottleKeys('ada', '198.51.100.1', 'browser')
    await repeat(5, () => throttle.begin(toSignInThrottleKeys('ada', '198.51.100.1', undefined)))
    await guessFromEverywhere(45)
    expect(await waitOf(...toSignInThrottleKeys('ada', '198.51.100.1', undefined))).toBe(1)
    await fail(4, ...own)
    expect(await waitOf(...own)).toBe(0)
    expect(await waitOf(...own)).toBe(1)
  })

  it('has a wait for an address that tries many names', async () => {
    await repeat(30, (time) => throttle.begin(toSignInThrottleKeys(`name${time}`, '203.0.113.1', undefined)))
    expect(await waitOf(...toSignInThrottleKeys('ada', '203.0.113.1', undefined))).toBe(1)
    expect(await waitOf(...toSignInThrottleKeys('ada', '203.0.113.2', undefined))).toBe(0)
  })

  it('has one count for all addresses of a network of IPv6, because one host has them all', async () => {
    await repeat(30, (time) =>
      throttle.begin(toSignInThrottleKeys(`name${time}`, `2001:db8:0:7:${time}::9`, undefined)),
    )
    const waitFrom = (address: string) => waitOf(...toSignInThrottleKeys('ada', address, undefined))
    expect(await waitFrom('2001:0DB8::7:0:0:0:1')).toBe(1)
    expect([await waitFrom('2001:db8:0:8::1'), await waitFrom('::ffff:203.0.113.1')]).toEqual([0, 0])
  })

  it('has no wait after a reset of the counters of that name', async () => {
    await repeat(5, () => throttle.begin(toSignInThrottleKeys('ada', '203.0.113.1', undefined)))
    await throttle.reset('ad')
    expect(await waitOf(...toSignInThrottleKeys('ada', '203.0.113.1', undefined))).toBe(1)
    await throttle.reset('ada')
    expect(await waitOf(...toSignInThrottleKeys('ada', '203.0.113.1', undefined))).toBe(0)
  })
})
