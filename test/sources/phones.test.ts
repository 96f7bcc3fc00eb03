import { afterEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { toRegistrySource } from '../../src/registry/registry.ts'
import { toBvnPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { bearer, openTestApp } from '../app.ts'
import { isMatchOnly, type Kind, kindsOf, mainKindOf, toRequest } from './identity-vendors.ts'

/** Answers when the record of a vendor has an unreadable phone, or several phones. */
const NIN = '12345678901'
const OTHER_PHONE = '08021112223'

const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function openServer(vendors: readonly StandIn[], order: string, kind: Kind = 'nin') {
  const settings = Object.assign({}, ...vendors.map((vendor) => vendor.settings))
  const list = kind === 'nin' ? 'TABBAT_NIN_SOURCES' : 'TABBAT_BVN_SOURCES'
  const server = await openTestApp({ ...settings, [list]: order })
  const key = await server.createKey({ mode: 'live' })
  open.push(server)
  return (phone?: string) =>
    server.app.inject({ method: 'POST', headers: bearer(key), ...toRequest(kind, NIN, phone) })
}

describe.each(
  IDENTITY_VENDORS.map((script, index) => {
    const others = [...IDENTITY_VENDORS.slice(0, index).reverse(), ...IDENTITY_VENDORS.slice(index).reverse()]
    const isAble = (name: string) => kindsOf(name).includes(mainKindOf(script.name))
    return [script.name, script, others.find(({ name }) => isAble(name)) ?? script] as const
  }),
)('%s', (name, script, next) => {
  const kind = mainKindOf(name)

  it('is skipped when the phone of its record cannot be read; alone it leads to 502', async () => {
    const [first, second] = [await openStandIn(script), await openStandIn(next)]
    open.push(first, second)
    const verifyByBoth = await openServer([first, second], `${name},${next.name}`, kind)
    const verifyAlone = await openServer([first], name, kind)
    for (const fault of ['phone_null', 'phone_masked', 'phone_not_available'] as const) {
      first.fail(fault)
      const alone = await verifyAlone()
      expect([alone.statusCode, alone.json().code], fault).toEqual([502, 'source_bad_response'])
      expect((await verifyByBoth()).statusCode, fault).toBe(200)
    }
  })

  it('verifies by any of several phones, and answers "not verified" when all are readable and differ', async () => {
    const vendor = await openStandIn(script)
    open.push(vendor)
    const verify = await openServer([vendor], name, kind)
    vendor.fail('phone_several')
    const answer = await verify()
    expect(answer.statusCode).toBe(200)
    expect(answer.json().data.personal_info.phone_number).toBe(`0${toPhoneCoreOf(NIN)}`)
    vendor.spellPhones(() => `${OTHER_PHONE}; 08091112223`)
    expect((await verify()).statusCode).toBe(422)
    vendor.spellPhones(() => '+44 7911 123456')
    expect((await verify()).statusCode).toBe(422)
  })
})

describe.each(
  IDENTITY_VENDORS.filter(
    ({ name }) => name !== 'qoreid' && kindsOf(name).includes('bvn') && !isMatchOnly(name, 'bvn'),
  ).map((script) => [script.name, script] as const),
)('the second phone of a BVN of %s', (name, script) => {
  it('is compared and returned', async () => {
    const vendor = await openStandIn(script)
    const { vendors } = loadConfig(vendor.settings, '')
    const source = await openVendor(name, { vendors, allowPrivate: false })
    vendor.alter((body) => JSON.parse(JSON.stringify(body, toSecondPhone)))
    const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }
    // Blusalt and relay are sent the phone, and compare it with the first.
    const phones = ['blusalt', 'relay'].includes(name)
      ? [toPhoneCoreOf(NIN)]
      : [toPhoneCoreOf(NIN), OTHER_PHONE.slice(1)]
    for (const phone of phones)
      expect(await source.findBvn?.({ bvn: NIN, phone }, call)).toMatchObject({
        record: { personal_info: { phone_number: `0${toPhoneCoreOf(NIN)}`, phone_number_2: OTHER_PHONE } },
      })
    await source.close?.()
    await vendor.close()
  })
})

const toSecondPhone = (field: string, value: unknown) =>
  /^(phone_?number_?2|other_?mobile|alternate_phone)$/i.test(field) ? OTHER_PHONE : value

it('counts guesses at a readable phone, even when another phone is unreadable', async () => {
  const script = IDENTITY_VENDORS[0]
  if (!script) throw new Error('no vendor')
  const vendor = await openStandIn(script)
  open.push(vendor)
  const verify = await openServer([vendor], script.name)
  vendor.spellPhones((phone) => `${phone}, 080****4567`)
  const codes: string[] = []
  for (let guess = 0; guess < 20 && codes.at(-1) !== 'too_many_attempts'; guess++)
    codes.push((await verify(`080911122${10 + guess}`)).json().code)
  expect(new Set(codes)).toEqual(new Set(['source_bad_response', 'too_many_attempts']))
})

describe('the registry', () => {
  const BVN = '22345678901'
  const QUESTION = { subject: Buffer.alloc(0), decoy: Buffer.alloc(0) }
  const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }
  const ask = (phone_number_2: string | null, phone: string) => {
    const record = toBvnPerson(BVN)
    const stored = { ...record, personal_info: { ...record.personal_info, phone_number_2 } }
    const find = async () => ({ record: stored, mediaId: null }) as never
    const registry = toRegistrySource({ find, open: find, toQuestion: () => QUESTION, isEmpty: () => false })
    return registry.findBvn?.({ bvn: BVN, phone }, call)
  }

  it('fails when the second phone of a record is masked and the first differs', async () => {
    await expect(ask('****', OTHER_PHONE.slice(1))).rejects.toMatchObject({
      reason: 'bad_response',
      problem: 'mixed_phones',
    })
  })

  it('answers when the first phone matches, or there is no second', async () => {
    expect(await ask('****', toPhoneCoreOf(BVN))).toMatchObject({ found: true })
    expect(await ask(null, OTHER_PHONE.slice(1))).toMatchObject({ found: true })
  })
})
