import { afterEach, describe, expect, it } from 'vitest'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { bearer, openTestApp } from '../app.ts'
import { type Kind, mainKindOf, toRequest } from './identity-vendors.ts'

/** A problem with one person says nothing about the source, until several different people in a row have the same one. */
const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function openServer(vendors: readonly StandIn[], order: string, kind: Kind = 'nin') {
  const all = Object.assign({ TABBAT_QOREID_NAMES_OPTIONAL: 'on' }, ...vendors.map((each) => each.settings))
  const list = kind === 'nin' ? 'TABBAT_NIN_SOURCES' : 'TABBAT_BVN_SOURCES'
  const server = await openTestApp({ ...all, [list]: order })
  open.push(server)
  const key = await server.createKey({ mode: 'live' })
  const verify = (number: string) =>
    server.app.inject({ method: 'POST', headers: bearer(key), ...toRequest(kind, number) })
  const readSources = async () =>
    (await server.app.inject({ method: 'GET', url: '/health/ready' })).json().sources
  return { verify, readSources }
}

const openVendor = async (script = dojah) => {
  const vendor = await openStandIn(script)
  open.push(vendor)
  return vendor
}

const people = (count: number) => Array.from({ length: count }, (_, index) => String(12_345_678_900 + index))

describe.each(IDENTITY_VENDORS.map((script) => [script.name, script] as const))('%s', (name, script) => {
  it('with an unlisted text for six people is still called for others, and never means "not verified"', async () => {
    const vendor = await openVendor(script)
    const server = await openServer([vendor], name, mainKindOf(name))
    vendor.refuse(404, 'This identity is not on our file')
    for (const nin of people(6)) expect((await server.verify(nin)).json().code).toBe('source_bad_response')
    vendor.refuse(undefined)
    expect((await server.verify('12345678999')).statusCode).toBe(200)
    expect(await server.readSources()).toEqual({ [name]: 'ok' })
  })
})

describe('one person', () => {
  it.each([
    ['an unlisted text', { status: 404, body: { error: 'This identity is not on our file' } }],
    ['an empty 404', { status: 404, body: {} }],
    ['a record without a name', { status: 200, body: { entity: { telephone: '08031234567' } } }],
  ])('asked again and again with %s does not switch the source off', async (_what, reply) => {
    const vendor = await openVendor()
    const server = await openServer([vendor], 'dojah')
    vendor.answerWith(reply)
    for (let time = 0; time < 4; time++)
      for (const nin of people(5)) expect([502, 429]).toContain((await server.verify(nin)).statusCode)
    expect(await server.readSources()).toEqual({ dojah: 'ok' })
  })
})

describe('a failure for one person', () => {
  it.each([
    ['status 500', { status: 500, body: { error: 'Internal error' } }],
    ['status 424', { status: 424, body: { error: 'Third party failed' } }],
    ['status 504', { status: 504, body: {} }],
    ['status 403', { status: 403, body: {} }],
    ['the record of another person', { status: 200, body: { entity: { nin: '99999999999' } } }],
  ])(
    'with %s, asked for again and again, does not switch the source off for others',
    async (_what, reply) => {
      const vendor = await openVendor()
      const server = await openServer([vendor], 'dojah')
      for (const isOtherBetween of [false, true]) {
        for (let time = 0; time < 12; time++) {
          vendor.answerWith(reply)
          expect((await server.verify('12345678901')).statusCode).toBeGreaterThan(500)
          vendor.answerWith(undefined)
          if (isOtherBetween)
            expect((await server.verify(String(12_345_678_950 + time))).statusCode).toBe(200)
        }
        expect((await server.verify('12345678999')).statusCode).toBe(200)
      }
    },
  )

  it('counts for five different people', async () => {
    const vendor = await openVendor()
    const server = await openServer([vendor], 'dojah')
    vendor.answerWith({ status: 500, body: {} })
    for (const nin of people(6)) expect((await server.verify(nin)).statusCode).toBe(503)
    expect(vendor.count()).toBe(5)
  })
})

it('a vendor that stops sending phones is skipped after ten people', async () => {
  const [first, second] = [await openVendor(), await openVendor(blusalt)]
  const server = await openServer([first, second], 'dojah,blusalt')
  first.fail('phone_missing')
  for (const nin of people(60)) expect((await server.verify(nin)).statusCode).toBe(200)
  expect(second.count()).toBe(60)
  expect(first.count()).toBeLessThan(15)
  expect(await server.readSources()).toEqual({ dojah: 'degraded', blusalt: 'ok' })
})

it('a wrong path opens the breaker', async () => {
  const vendor = await openVendor()
  const server = await openServer([vendor], 'dojah')
  vendor.refuse(404, 'Not Found')
  for (const nin of people(20)) expect([502, 503]).toContain((await server.verify(nin)).statusCode)
  expect(vendor.count()).toBeLessThan(15)
})
