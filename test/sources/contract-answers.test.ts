import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import type { Fault } from '../../src/simulator/faults.ts'
import {
  READABLE_PHONES,
  REFUSALS,
  REFUSED_STATUSES,
  REFUSED_TEXTS,
  type SpellPhone,
  UNREADABLE_PHONES,
} from '../../src/simulator/faults.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { type Source, SourceError } from '../../src/sources/source.ts'
import { isMatchOnly, kindsOf, toNeededDetails } from './identity-vendors.ts'

/** Tests for every vendor: "not verified" only for a readable, different phone, or for a documented reply of the vendor. */
const NUMBER = '12345678901'
const PHONE = toPhoneCoreOf(NUMBER)
const OTHER_PHONE = '8021112223'
const PHONE_2 = '8091234567'
/** Spellings of the requested phone, alone or with others. */
const READABLE: readonly SpellPhone[] = [
  ...Object.values(READABLE_PHONES),
  (phone) => phone.slice(1),
  (phone) => `234${phone.slice(1)}`,
  (phone) => `234${phone}`,
  (phone) => `+234 ${phone.slice(1, 4)} ${phone.slice(4)}`,
  (phone) => Number(phone),
  (phone) => [phone],
  (phone) => [null, `0${OTHER_PHONE}`, phone],
  ...[',', ', ', '/', ' / ', ';', '|', ' ', ' and '].map(
    (sign): SpellPhone =>
      (phone) =>
        `0${OTHER_PHONE}${sign}${phone}`,
  ),
  // An unreadable phone does not matter when another one matches.
  (phone) => `080****4567, ${phone}`,
]
/** Phones that do not match, but may be the requested one. */
const UNCOMPARABLE: readonly SpellPhone[] = [
  ...Object.values(UNREADABLE_PHONES),
  (phone) => phone.slice(0, -1),
  (phone) => `${phone}1`,
  () => ({ number: `0${OTHER_PHONE}` }),
  () => [],
  () => true,
  () => 'see file',
  // The unreadable phone may be the right one.
  () => `0${OTHER_PHONE}, 080****4567`,
  () => [`0${OTHER_PHONE}`, '***********'],
]

const cases = IDENTITY_VENDORS.flatMap((script) =>
  kindsOf(script.name).map((kind) => [script.name, kind, script] as const),
)

describe.each(cases)('%s %s', (name, kind, script) => {
  let vendor: StandIn
  let source: Source
  beforeAll(async () => {
    vendor = await openStandIn(script)
    const { vendors } = loadConfig(vendor.settings, '')
    source = await openVendor(name, { vendors, allowPrivate: false, attemptMs: 20_000 })
  })
  afterEach(() => {
    vendor.fail(undefined)
    vendor.refuse(undefined)
    vendor.spellPhones(undefined)
  })
  afterAll(async () => {
    await source.close?.()
    await vendor.close()
  })

  const find = () => {
    const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }
    const details = toNeededDetails(source, kind, NUMBER)
    return kind === 'nin'
      ? source.findNin?.({ nin: NUMBER, phone: PHONE, details }, call)
      : source.findBvn?.({ bvn: NUMBER, phone: PHONE, details }, call)
  }
  const failure = async (what: string): Promise<SourceError> => {
    const error = await find()?.then(
      (answer) => answer,
      (reason: unknown) => reason,
    )
    expect(error, what).toBeInstanceOf(SourceError)
    expect((error as SourceError).problem, what).toBeDefined()
    return error as SourceError
  }

  it.each(Object.keys(REFUSALS) as Fault[])('does not read %s as "no such person"', async (fault) => {
    vendor.fail(fault)
    const error = await failure(fault)
    // A complaint about the format of one request, or a path that is not found, may be about one person.
    const isOfOne = ['wrong_format', 'unknown_endpoint', 'unknown_route'].includes(fault)
    expect(error.fault).toBe(isOfOne ? 'request' : 'source')
  })

  it('reads only documented errors as "no such person"', async () => {
    for (const status of REFUSED_STATUSES)
      for (const text of REFUSED_TEXTS) {
        vendor.refuse(status, text)
        await failure(`${status} ${text}`)
      }
  })

  // The other tests are about the phone of a record.
  if (isMatchOnly(name, kind)) return

  it('reads the phone in every spelling, also among several', async () => {
    for (const spell of READABLE) {
      vendor.spellPhones(spell)
      const answer = await find()
      if (!answer?.found) throw new Error(`not found: ${spell}`)
      expect(answer.record.personal_info.phone_number, String(spell)).toBe(`0${PHONE}`)
    }
  })

  it('fails when the phone cannot be compared, which does not count against the source', async () => {
    for (const spell of UNCOMPARABLE) {
      vendor.spellPhones(spell)
      const { reason, problem, fault } = await failure(String(spell))
      expect([reason, fault]).toEqual(['bad_response', 'request'])
      expect(['no_phone', 'unreadable_phone', 'mixed_phones']).toContain(problem)
    }
  })

  it('returns a record with another phone, so that the phones can be compared', async () => {
    vendor.spellPhones(() => `0${OTHER_PHONE}/0${PHONE_2}`)
    const answer = await find()
    if (!answer?.found) throw new Error('not found')
    expect(answer.record.personal_info).toMatchObject({
      phone_number: `0${OTHER_PHONE}`,
      ...(kind === 'bvn' && { phone_number_2: `0${PHONE_2}` }),
    })
  })
})
