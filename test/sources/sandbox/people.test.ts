import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BvnRecord } from '../../../src/contract/bvn.ts'
import { NinRecord } from '../../../src/contract/nin.ts'
import { toPhoneCore } from '../../../src/contract/person.ts'
import { toBvnRecord } from '../../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../../src/sources/sandbox/nin-record.ts'
import { ACCOUNT_LEVELS } from '../../../src/sources/sandbox/occupations.ts'
import { STATES } from '../../../src/sources/sandbox/place.ts'
import { drawPortrait } from '../../../src/sources/sandbox/portrait.ts'

const ajv = new Ajv({ strict: false })
const isNinRecord = ajv.compile(NinRecord)
const isBvnRecord = ajv.compile(BvnRecord)

const PHONE = '8031234567'
const MISMATCH_PHONE = '8000000000'
const people = { numRuns: 10_000 }
const anyNumber = fc.nat(99_999_999_999).map((number) => String(number).padStart(11, '0'))
const anyPhone = fc
  .tuple(fc.constantFrom('70', '71', '80', '81', '90', '91'), fc.nat(99_999_999))
  .map(([prefix, rest]) => `${prefix}${String(rest).padStart(8, '0')}`)
  .filter((core) => core !== MISMATCH_PHONE)

const areas = new Set(STATES.flatMap((state) => state.lgas.map((lga) => `${state.name}/${lga}`)))
const isPlace = (state: string, lga: string) => areas.has(`${state}/${lga}`)

/** Fails for dates that do not exist: the 31st of February would come back as a day in March. */
function readDate(day: string, month: string, year: string) {
  const date = new Date(`${month} ${day}, ${year} UTC`)
  if (date.getUTCDate() !== Number(day)) throw new Error(`no such date: ${day} ${month} ${year}`)
  return date
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// Bare comparisons: 10 000 people times a dozen `expect` calls would take longer than making the people.
const check = (holds: boolean, rule: string) => {
  if (!holds) throw new Error(rule)
}

function checkNinRecord(record: NinRecord) {
  const { personal_info: info, indigene_info: indigene, residential_info: home, next_of_kin: kin } = record
  check(isNinRecord(record), 'fits the schema')
  const [day = '', month = '', year = ''] = info.date_of_birth.split('-')
  const shortMonth = MONTHS[Number(month) - 1] ?? ''
  check(/^\d\d-\d\d-\d{4}$/.test(info.date_of_birth), 'has a numeric date of birth')
  check(
    info.formatted_date_of_birth === `${shortMonth} ${Number(day)}, ${year}`,
    'has the same date in words',
  )
  const bornIn = readDate(day, shortMonth, year).getUTCFullYear()
  check(bornIn >= 1950 && bornIn <= 2004, 'is an adult')
  check(isPlace(indigene.state_of_origin, indigene.lga_of_origin), 'comes from a real place')
  check(isPlace(indigene.state_of_birth, indigene.lga_of_birth), 'was born in a real place')
  check(isPlace(home.state_of_residence, home.lga_of_residence), 'lives in a real place')
  check(isPlace(kin.state, kin.lga), 'has kin in a real place')
  check(
    Object.values(kin).every((value) => value !== ''),
    'has all of the next of kin',
  )
  check(indigene.place_of_origin !== '' && indigene.country_of_birth === 'Nigeria', 'has an origin')
  check((info.title === 'Mr') === (info.gender === 'm'), 'has a title that fits')
  check(['Mr', 'Mrs', 'Miss', 'Ms'].includes(info.title), 'has a known title')
  check((info.maiden_name !== '') === (info.title === 'Mrs'), 'has a maiden name when a Mrs')
  check(info.marital_status !== 'Married' || ['Mr', 'Mrs'].includes(info.title), 'is a Mrs when married')
  const code = /^\/media\/sandbox\/([mf]-.*)\.svg$/.exec(info.image_url)?.[1] ?? ''
  check(code.startsWith(info.gender) && drawPortrait(code) !== undefined, 'has a portrait')
}

function checkBvnRecord(record: BvnRecord) {
  const { personal_info: info, residential_info: home } = record
  check(isBvnRecord(record), 'fits the schema')
  const [day = '', month = '', year = ''] = info.date_of_birth.split('-')
  check(/^\d\d-[A-Z][a-z]{2}-\d{4}$/.test(info.date_of_birth), 'has a hyphenated date of birth')
  const bornOn = readDate(day, month, year)
  check(bornOn.getUTCFullYear() >= 1950 && bornOn.getUTCFullYear() <= 2004, 'is an adult')
  check(
    new Date(`${info.formatted_date_of_birth} UTC`).getTime() === bornOn.getTime(),
    'has the same date in words',
  )
  check(/^[A-Z][a-z]{2,} [1-9]\d?, \d{4}$/.test(info.formatted_date_of_birth), 'has a date in words')
  const registered = record.formatted_registration_date ?? ''
  const registeredOn = new Date(`${registered} UTC`)
  check(/^[A-Z][a-z]{2,} [1-9]\d?, 20(?:1[4-9]|2[0-3])$/.test(registered), 'registered from 2014 to 2023')
  check(
    registeredOn.getTime() >
      Date.UTC(bornOn.getUTCFullYear() + 18, bornOn.getUTCMonth(), bornOn.getUTCDate()),
    'registered as an adult',
  )
  check(isPlace(info.state_of_origin, info.lga_of_origin), 'comes from a real place')
  check(isPlace(home.state_of_residence, home.lga_of_residence), 'lives in a real place')
  check(['Male', 'Female'].includes(info.gender), 'has a gender')
  check(['058', '011', '033', '044', '057'].includes(record.enrolment_bank), 'has a known bank')
  check(
    ACCOUNT_LEVELS.some((level) => level === record.level_of_account),
    'has a known level',
  )
  check(record.watchlisted === null, 'is not on the watch list')
  check(record.nin === '' || /^(?!00000000)\d{11}$/.test(record.nin), 'has a NIN that is no scenario')
  check(
    info.email === '' || /^[a-z]+\.[a-z]+@example\.com$/.test(info.email),
    'has an address that belongs to no person',
  )
  check(
    info.phone_number_2 === null || /^0(?!8000000000)[789][01]\d{8}$/.test(info.phone_number_2),
    'has a second mobile',
  )
}

describe('10 000 people', () => {
  test('behind NINs are plausible, the same each time, and have the phone of the request', () => {
    fc.assert(
      fc.property(anyNumber, anyPhone, (nin, phone) => {
        const record = toNinRecord(nin, phone)
        checkNinRecord(record)
        check(
          record.nin_number === nin && record.personal_info.phone_number === `0${phone}`,
          'answers what was asked',
        )
        check(JSON.stringify(toNinRecord(nin, phone)) === JSON.stringify(record), 'is deterministic')
      }),
      people,
    )
  })

  test('behind BVNs are plausible, the same each time, and have the phone of the request', () => {
    fc.assert(
      fc.property(anyNumber, anyPhone, (bvn, phone) => {
        const record = toBvnRecord(bvn, phone)
        checkBvnRecord(record)
        check(
          record.bvn_number === bvn && record.personal_info.phone_number === `0${phone}`,
          'answers what was asked',
        )
        check(JSON.stringify(toBvnRecord(bvn, phone)) === JSON.stringify(record), 'is deterministic')
      }),
      people,
    )
  })
})

test('a person does not change with the phone', () => {
  fc.assert(
    fc.property(anyNumber, anyPhone, anyPhone, (number, phone, other) => {
      const nin = toNinRecord(number, phone)
      nin.personal_info.phone_number = `0${other}`
      expect(toNinRecord(number, other)).toEqual(nin)
      const bvn = toBvnRecord(number, phone)
      bvn.personal_info.phone_number = `0${other}`
      expect(toBvnRecord(number, other)).toEqual(bvn)
    }),
  )
})

test('with 08000000000, the phone on record is another valid phone, the same each time', () => {
  fc.assert(
    fc.property(anyNumber, (number) => {
      const nin = toNinRecord(number, MISMATCH_PHONE)
      const bvn = toBvnRecord(number, MISMATCH_PHONE)
      for (const phone of [nin.personal_info.phone_number, bvn.personal_info.phone_number]) {
        const core = toPhoneCore(phone)
        expect(core).toBeDefined()
        expect(core).not.toBe(MISMATCH_PHONE)
        expect(phone).toBe(`0${core}`)
      }
      expect(bvn.personal_info.phone_number_2).not.toBe(`0${MISMATCH_PHONE}`)
      expect([toNinRecord(number, MISMATCH_PHONE), toBvnRecord(number, MISMATCH_PHONE)]).toEqual([nin, bvn])
    }),
    { numRuns: 300 },
  )
})

test('the NIN on a BVN belongs to the same person', () => {
  fc.assert(
    fc.property(anyNumber, (number) => {
      const bvn = toBvnRecord(number, PHONE)
      fc.pre(bvn.nin !== '')
      const { personal_info: info, indigene_info: indigene } = toNinRecord(bvn.nin, PHONE)
      expect(bvn.personal_info).toMatchObject({
        full_name: info.full_name,
        gender: info.gender === 'm' ? 'Male' : 'Female',
        marital_status: info.marital_status,
        state_of_origin: indigene.state_of_origin,
        lga_of_origin: indigene.lga_of_origin,
      })
    }),
  )
})

test('people differ: fields vary, and those that may be empty are so for some', () => {
  const numbers = Array.from({ length: 2000 }, (_, index) => String(22_000_000_000 + index * 7919))
  const nins = numbers.map((number) => toNinRecord(number, PHONE))
  const bvns = numbers.map((number) => toBvnRecord(number, PHONE))
  const share = (part: number) => part / numbers.length
  expect(new Set(nins.map((nin) => nin.personal_info.full_name)).size).toBeGreaterThan(1900)
  expect(new Set(nins.map((nin) => nin.indigene_info.state_of_origin)).size).toBe(37)
  expect(share(nins.filter((nin) => nin.personal_info.gender === 'f').length)).toBeCloseTo(0.5, 1)
  expect(share(bvns.filter((bvn) => bvn.nin === '').length)).toBeCloseTo(0.15, 1)
  expect(share(bvns.filter((bvn) => bvn.personal_info.phone_number_2 === null).length)).toBeCloseTo(0.75, 1)
  expect(share(bvns.filter((bvn) => bvn.personal_info.email === '').length)).toBeCloseTo(0.2, 1)
})
