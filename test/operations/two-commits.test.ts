import { afterEach, describe, expect, it, vi } from 'vitest'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { bearer, openTestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NIN = '12345678901'
const PHONE = `0${toPhoneCoreOf(NIN)}`
const PRICE = { TABBAT_DOJAH_PRICE: '50', TABBAT_DOJAH_DAILY_CAP: '5000', TABBAT_BLUSALT_PRICE: '60' }
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const each of opened.splice(0).reverse()) await each.close()
})

/** A server with two vendors. `ask` resolves to the status, and to what was written for it, one name for each commit. */
async function openShop(engine: string) {
  const vendors = (await Promise.all([dojah, blusalt].map((script) => openStandIn(script)))) as [
    StandIn,
    StandIn,
  ]
  opened.push(...vendors)
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({
    TABBAT_NIN_SOURCES: 'dojah,blusalt',
    ...PRICE,
    ...database,
    ...vendors[0].settings,
    ...vendors[1].settings,
  })
  opened.push(server)
  const { audit, idempotency, guessLimit, leases, sourceChain } = server.context
  const written: string[] = []
  const watch = <Name extends string>(
    target: { [K in Name]: (...given: never[]) => unknown },
    name: Name,
  ) => {
    const original = target[name].bind(target) as (...given: unknown[]) => unknown
    Object.assign(target, {
      [name]: (...given: unknown[]) => {
        written.push(name)
        return original(...given)
      },
    })
  }
  for (const name of ['record', 'recordWith', 'recordChange'] as const) watch(audit, name)
  for (const name of ['find', 'release'] as const) watch(idempotency, name)
  watch(guessLimit, 'settle')
  watch(leases, 'refundLate')
  const key = await server.createKey({ mode: 'live' })
  const ask = async (phone = PHONE, header?: string) => {
    written.length = 0
    const { statusCode } = await server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(key), ...(header !== undefined && { 'idempotency-key': header }) },
      payload: { nin: NIN, phone },
    })
    return [statusCode, ...written]
  }
  return { vendors, ask, listSpend: sourceChain.listSpend }
}

const BEGIN_AND_END = ['recordWith', 'recordWith']
const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('a verification through a vendor on %s', (engine) => {
  it('is two commits, with and without an Idempotency-Key, found or not', async () => {
    const { ask, listSpend } = await openShop(engine)
    expect(await ask()).toEqual([200, ...BEGIN_AND_END])
    expect(await ask(PHONE, 'one')).toEqual([200, ...BEGIN_AND_END])
    expect(await ask('08099999999')).toEqual([422, ...BEGIN_AND_END])
    expect(await listSpend()).toEqual([{ name: 'dojah', calls: 3, kobo: 15_000 }])
  })

  it('is one more commit for a further source, which gives back what the first did not bill', async () => {
    const { vendors, ask, listSpend } = await openShop(engine)
    vendors[0].fail('throttled')
    expect(await ask(PHONE, 'two')).toEqual([200, 'recordWith', ...BEGIN_AND_END])
    expect(await listSpend()).toEqual([
      { name: 'blusalt', calls: 1, kobo: 6000 },
      { name: 'dojah', calls: 0, kobo: 0 },
    ])
  })

  it('that fails is two commits, and leaves neither the key, the guess nor money behind', async () => {
    const { vendors, ask, listSpend } = await openShop(engine)
    for (const vendor of vendors) vendor.fail('throttled')
    expect(await ask(PHONE, 'three')).toEqual([503, 'recordWith', ...BEGIN_AND_END])
    expect((await listSpend()).map(({ kobo }) => kobo)).toEqual([0, 0])
  })

  it('that repeats an Idempotency-Key looks for the response, and writes the replay', async () => {
    const { vendors, ask } = await openShop(engine)
    await ask(PHONE, 'four')
    expect(await ask(PHONE, 'four')).toEqual([200, 'find', 'record'])
    expect(vendors[0].count()).toBe(1)
  })

  it('that repeats an Idempotency-Key while another repeats it is replayed as well', async () => {
    const { vendors, ask } = await openShop(engine)
    await ask(PHONE, 'again')
    const repeats = await Promise.all(Array.from({ length: 5 }, () => ask(PHONE, 'again')))
    expect(repeats.map(([status]) => status)).toEqual(Array(5).fill(200))
    expect(vendors[0].count()).toBe(1)
  })

  it('beyond the guess limit is refused by its first commit, and nothing is asked or spent', async () => {
    const { vendors, ask, listSpend } = await openShop(engine)
    for (let guess = 0; guess < 5; guess++) await ask(`0809999999${guess}`)
    expect(await ask('08088888888', 'five')).toEqual([429, 'recordWith'])
    expect(vendors[0].count()).toBe(5)
    expect(await listSpend()).toEqual([{ name: 'dojah', calls: 5, kobo: 25_000 }])
  })
})
