import { afterEach, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { qoreid } from '../../src/simulator/qoreid.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { youverify } from '../../src/simulator/youverify.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { type Kind, kindsOf, mainKindOf, toRequest } from './identity-vendors.ts'
import { useShippedFile } from './shipped-file.ts'

/** An error of a vendor that is not about the person never leads to "not verified". */
const NIN = '12345678901'
const NAMES_OPTIONAL = { TABBAT_QOREID_NAMES_OPTIONAL: 'on' }

const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function openServer(
  vendors: readonly StandIn[],
  order: string,
  { kind = 'nin', ...more }: Record<string, string> & { readonly kind?: Kind } = {},
) {
  const settings = Object.assign({}, ...vendors.map((vendor) => vendor.settings))
  const list = kind === 'nin' ? 'TABBAT_NIN_SOURCES' : 'TABBAT_BVN_SOURCES'
  const server = await openTestApp({ ...settings, ...more, [list]: order })
  open.push(server)
  return { ...server, kind, key: await server.createKey({ mode: 'live' }) }
}

const verify = ({ app, kind, key }: TestApp & { readonly kind: Kind; readonly key: string }, number = NIN) =>
  app.inject({ method: 'POST', headers: bearer(key), ...toRequest(kind, number) })

describe.each(IDENTITY_VENDORS.map((script) => [script.name, script] as const))('%s', (name, script) => {
  it('alone leads to 502 or 503 for an error that is not about the person; otherwise the next source is called', async () => {
    const kind = mainKindOf(name)
    const next =
      IDENTITY_VENDORS.find((other) => other.name !== name && kindsOf(other.name).includes(kind)) ?? dojah
    const vendors = [await openStandIn(script), await openStandIn(next)]
    open.push(...vendors)
    const byOne = await openServer(vendors, name, { kind })
    const byBoth = await openServer(vendors, `${name},${next.name}`, { kind })
    for (const fault of ['unknown_app', 'wrong_format', 'not_now'] as const) {
      vendors[0]?.fail(fault)
      const alone = await verify(byOne)
      expect([502, 503], fault).toContain(alone.statusCode)
      expect(['source_bad_response', 'source_unavailable'], fault).toContain(alone.json().code)
      expect((await verify(byBoth)).statusCode, fault).toBe(200)
    }
  })
})

describe.each(IDENTITY_VENDORS.map((script) => [script.name, script] as const))('%s', (name, script) => {
  it('gets a text for "no such person" by its setting', async () => {
    const vendor = await openStandIn(script)
    open.push(vendor)
    const setting = { [`TABBAT_${name.toUpperCase()}_NOT_FOUND`]: 'No such identity|Not on our file' }
    const server = await openServer([vendor], name, { ...NAMES_OPTIONAL, ...setting, kind: mainKindOf(name) })
    vendor.refuse(404, 'Not on our file.')
    expect((await verify(server)).json().code).toBe('not_verified')
    vendor.refuse(404, 'Not on our file for this app')
    expect((await verify(server, '12345678902')).json().code).toBe('source_bad_response')
  })
})

describe.each(IDENTITY_VENDORS.map((script) => [script.name, script] as const))('%s', (name, script) => {
  it('alone leads to 502 when it says "no record" for another number; otherwise the next source is called', async () => {
    const kind = mainKindOf(name)
    const next =
      IDENTITY_VENDORS.find((other) => other.name !== name && kindsOf(other.name).includes(kind)) ?? dojah
    const vendors = [await openStandIn(script), await openStandIn(next)]
    open.push(...vendors)
    const byOne = await openServer(vendors, name, { ...NAMES_OPTIONAL, kind })
    const byBoth = await openServer(vendors, `${name},${next.name}`, { ...NAMES_OPTIONAL, kind })
    vendors[0]?.refuse(404, 'No record for 99345678901')
    const alone = await verify(byOne)
    expect([alone.statusCode, alone.json().code]).toEqual([502, 'source_bad_response'])
    expect((await verify(byBoth)).statusCode).toBe(200)
  })
})

it.each([
  [qoreid, { status: 404, body: { message: 'NIN provided is not found. Please provide a valid nin' } }],
  [qoreid, { status: 404, body: { message: 'NIN not found. Please provide a valid NIN.' } }],
  [youverify, { status: 404, body: { success: false, statusCode: 404, message: 'NIN not found' } }],
  [youverify, { status: 200, body: { success: false, message: 'Record not found' } }],
  [dojah, { status: 404, body: { status: 404, message: 'Record not found', reference_id: 'r1' } }],
])('the documented text of $name for "no such person" means that', async (script, reply) => {
  const vendor = await openStandIn(script)
  open.push(vendor)
  const server = await openServer([vendor], script.name, NAMES_OPTIONAL)
  vendor.answerWith(reply)
  expect((await verify(server)).json().code).toBe('not_verified')
})

/** Codes for "no such person" beside a text about something else. */
const CODED: readonly (readonly [string, object, place: string])[] = [
  ['prembly', { status: false, response_code: '01' }, 'detail'],
  ['prembly', { status: false, response_code: '01', message: 'Verification failed' }, 'detail'],
  ['seamfix', { responseCode: '00', verificationStatus: 'NOT VERIFIED' }, 'description'],
  ['smileid', { ResultCode: '1013', Actions: { Verify_ID_Number: 'Not Verified' } }, 'ResultText'],
  ['youverify', { success: true, statusCode: 200, data: { status: 'not_found' } }, 'message'],
]

describe.each(CODED)('the code of %s for "no such person", %j', (name, body, place) => {
  const { ask } = useShippedFile(name)
  const details = { first_name: 'Ada', last_name: 'Obi' }

  it.each([
    ['Insufficient wallet balance', 'funds'],
    ['Insufficient wallet', 'funds'],
    ['Low balance', 'funds'],
    ['Unauthenticated.', 'credentials'],
    ['You do not have permission for this product', 'credentials'],
    ['Your IP address is not whitelisted', 'credentials'],
    ['NIMC is not available at the moment', 'vendor_down'],
    ['Invalid API key', 'credentials'],
    ['Merchant not found', 'unknown_account'],
  ])('is no answer beside %j', async (text, problem) => {
    const reply = { status: 200, body: { ...body, [place]: text } }
    await expect(ask('nin', reply, { details })).rejects.toMatchObject({ problem })
  })

  it('is one beside other texts', async () => {
    const { answer } = await ask('nin', { status: 200, body: { ...body, [place]: 'Done' } }, { details })
    expect(answer).toMatchObject({ found: false })
  })
})

it('a wrong path opens the breaker, as any other failure does', async () => {
  const vendor = await openStandIn(dojah)
  open.push(vendor)
  const server = await openServer([vendor], 'dojah')
  vendor.fail('unknown_endpoint')
  for (let nin = 20_000_000_000; nin < 20_000_000_020; nin++)
    expect([502, 503]).toContain((await verify(server, String(nin))).statusCode)
  const ready = await server.app.inject({ method: 'GET', url: '/health/ready' })
  expect(ready.json()).toMatchObject({
    sources: { dojah: 'degraded' },
    warnings: { dojah: ['unknown_path'] },
  })
  expect(vendor.count()).toBeLessThan(20)
})
