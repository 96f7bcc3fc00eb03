import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { namesWith } from '../../src/sources/vendors.ts'
import { tickRunningClock } from '../../src/telemetry/running-clock.ts'
import { bearer, openTestApp } from '../app.ts'

const NIN = '12345678901'
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const each of opened.splice(0).reverse()) await each.close()
})

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Vendors on real sockets that answer after a time of the clock of the test, a server that calls them, and its caller. */
async function openCaller(vendors: number, thinkMs: number) {
  const scripts = IDENTITY_VENDORS.filter(
    ({ name, tokenPath }) => tokenPath === undefined && namesWith('nin').includes(name),
  ).slice(0, vendors)
  let asked = 0
  const think = () => {
    asked += 1
    return wait(thinkMs)
  }
  const standIns = await Promise.all(scripts.map((script) => openStandIn(script, 0, think)))
  opened.push(...standIns)
  for (const each of standIns) each.fail('throttled')
  const server = await openTestApp({
    TABBAT_NIN_SOURCES: scripts.map(({ name }) => name).join(),
    ...Object.assign({}, ...standIns.map(({ settings }) => settings)),
  })
  opened.push(server)
  const key = await server.createKey({ mode: 'live' })
  const startedAt = performance.now()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  // It goes on where the real clock was: the process remembers when it stood still, in the tests of other files too.
  vi.advanceTimersByTime(Math.max(0, startedAt - performance.now()))
  let status: number | undefined
  const answer = server.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: bearer(key),
    payload: { nin: NIN, phone: `0${toPhoneCoreOf(NIN)}` },
  })
  void answer.then(({ statusCode }) => {
    status = statusCode
  })
  let now = 0
  /** In steps that are not taken for a standstill. What the sockets bring is read in between. */
  const goTo = async (ms: number) => {
    for (; now < ms; now += 100) {
      vi.advanceTimersByTime(100)
      tickRunningClock()
      for (let turn = 0; turn < 20; turn++) await setImmediate()
    }
  }
  /** The clock stands still, and only the sockets and the database go on. */
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await setImmediate()
  }
  const untilAsked = (count: number) => until(() => asked >= count)
  const readStatus = async () => {
    await until(() => status !== undefined)
    return status
  }
  await untilAsked(1)
  return { goTo, untilAsked, statusNow: () => status, readStatus }
}

describe('a caller', () => {
  it('is held by a vendor that never answers for 8 seconds', async () => {
    const { goTo, statusNow, readStatus } = await openCaller(1, 1_000_000)
    await goTo(7900)
    expect(statusNow()).toBeUndefined()
    await goTo(8100)
    expect(await readStatus()).toBe(504)
  })

  it('is held by two vendors that never answer for less than 15 seconds', async () => {
    const { goTo, untilAsked, readStatus } = await openCaller(2, 1_000_000)
    await goTo(3000)
    await untilAsked(2)
    await goTo(14_900)
    expect(await readStatus()).toBe(504)
  })

  it('is held by many vendors that refuse late for less than 15 seconds', async () => {
    const { goTo, untilAsked, statusNow, readStatus } = await openCaller(4, 7000)
    // Another one is asked after 2 seconds. What is written before stands on a disk, which may be slower than the clock of the test.
    await goTo(2200)
    await untilAsked(2)
    // Both have refused, so that the next one may be paid.
    await goTo(9300)
    await untilAsked(3)
    await goTo(11_500)
    await untilAsked(4)
    await goTo(14_400)
    expect(statusNow()).toBeUndefined()
    await goTo(14_900)
    expect(await readStatus()).toBe(504)
  })
})
