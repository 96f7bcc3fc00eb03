import { describe, expect, it } from 'vitest'
import type { RequireMatch } from '../../src/contract/person.ts'
import { AppError } from '../../src/errors.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { SourceError } from '../../src/sources/source.ts'
import { BVN, NIN } from '../../src/verification/id-type.ts'
import { isFailedGuess, isPhoneOf, match } from '../../src/verification/match.ts'
import { matchDetails } from '../../src/verification/match-details.ts'

const NUMBER = '41000000001'
const PHONE = '8031234567'
const record = toNinRecord(NUMBER, PHONE)
const { first_name, last_name, date_of_birth } = record.personal_info
const DETAILS = { first_name, last_name, date_of_birth: date_of_birth.split('-').reverse().join('-') }
const FOUND = { found: true, record } as const
const UNKNOWN = { found: false } as const

type Wish = { phone?: string; number?: string; details?: object; requireMatch?: RequireMatch }

const decide = (wish: Wish, answer: Parameters<typeof match<typeof record>>[2] = FOUND) =>
  match(
    NIN,
    {
      number: wish.number ?? NUMBER,
      phone: wish.phone ?? PHONE,
      details: wish.details,
      caller: { hidden: [], requireMatch: wish.requireMatch },
    } as never,
    answer,
  )

describe('a decision', () => {
  it('is verified for a record with the phone of the request', () => {
    expect(decide({})).toEqual({ outcome: 'verified', record })
    expect(isFailedGuess(decide({}))).toBe(false)
  })

  it.each<[string, Wish, typeof FOUND | typeof UNKNOWN]>([
    ['another phone', { phone: '8039999999' }, FOUND],
    ['no record', {}, UNKNOWN],
    ['another phone, with the right details', { phone: '8039999999', details: DETAILS }, FOUND],
    ['no record, with details', { details: DETAILS }, UNKNOWN],
    ['no record, where the key requires a match', { details: DETAILS, requireMatch: 'name' }, UNKNOWN],
    [
      'another phone, where the key requires a match',
      { phone: '8039999999', details: DETAILS, requireMatch: 'dob' },
      FOUND,
    ],
  ])('is "not verified", says nothing of details and counts as a wrong guess: %s', (_name, wish, answer) => {
    const decision = decide(wish, answer)
    expect(decision).toEqual({ outcome: 'not_verified' })
    expect(isFailedGuess(decision)).toBe(true)
  })

  it('tells how details match, and a detail that differs counts as a wrong guess', () => {
    const right = decide({ details: DETAILS })
    expect(right).toMatchObject({
      outcome: 'verified',
      match: { told: { first_name: 'exact', date_of_birth: 'exact' } },
    })
    expect(isFailedGuess(right)).toBe(false)
    const wrong = decide({ details: { ...DETAILS, first_name: 'Zzyzx' } })
    expect(wrong).toMatchObject({ outcome: 'verified', match: { told: { first_name: 'no' } } })
    expect(isFailedGuess(wrong)).toBe(true)
  })

  it.each<RequireMatch>(['name', 'dob'])(
    'is "not verified" where the key requires %s and it differs',
    (requireMatch) => {
      const details = { first_name: 'Zzyzx', last_name: 'Qwrtp', date_of_birth: '1901-02-03' }
      const decision = decide({ details, requireMatch })
      expect(decision).toMatchObject({ outcome: 'not_verified', match: { compared: expect.anything() } })
      expect(isFailedGuess(decision)).toBe(true)
      expect(decide({ details: DETAILS, requireMatch })).toMatchObject({ outcome: 'verified' })
    },
  )

  it('is a failure where the record lacks what the key requires', () => {
    const bare = { ...record, personal_info: { ...record.personal_info, date_of_birth: '' } }
    expect(() => decide({ details: DETAILS, requireMatch: 'dob' }, { found: true, record: bare })).toThrow(
      expect.objectContaining({ code: 'source_bad_response' }),
    )
  })

  it('is a failure where the record is that of another number', () => {
    expect(() => decide({ number: '41000000002' })).toThrow(
      expect.objectContaining({ code: 'source_bad_response' }),
    )
  })
})

describe('details that the key must not see', () => {
  const hidden = ['first_name', 'last_name', 'full_name'].map((field) => `personal_info.${field}`)
  const compareFor = (requireMatch: RequireMatch | undefined, details: object = DETAILS) =>
    matchDetails(details, record.personal_info, { hidden, requireMatch } as never)

  it('are not compared', () => {
    const { told, compared } = compareFor(undefined)
    expect(told).toEqual({ date_of_birth: 'exact' })
    expect(compared).toBe(told)
  })

  it('are compared where the key requires it, and not told', () => {
    expect(compareFor('name')).toEqual({
      told: { date_of_birth: 'exact' },
      compared: { first_name: 'exact', last_name: 'exact', date_of_birth: 'exact' },
    })
    expect(compareFor('name', { ...DETAILS, last_name: 'Zzyzx' }).compared.last_name).toBe('no')
    expect(compareFor('dob').compared).toEqual({ date_of_birth: 'exact' })
  })
})

describe('a record is about the number of the request', () => {
  it.each<[string, string, boolean]>([
    ['41000000001', '41000000001', true],
    ['41000000001', '41000000002', false],
    ['AB012345678910YZ', '41000000001', true],
    ['AB012345678910YZ', 'AB012345678910YZ', true],
    ['AB012345678910YZ', 'CD012345678910YZ', false],
    ['AB012345678910YZ', '4100000000', false],
    ['AB012345678910YZ', '', false],
  ])('%s: %s is %s', (asked, recorded, expected) => {
    expect(NIN.isAbout({ ...record, nin_number: recorded }, asked)).toBe(expected)
  })

  it('for a BVN only if it is the same', () => {
    expect(BVN.isAbout({ bvn_number: '22000000001' } as never, '22000000001')).toBe(true)
    expect(BVN.isAbout({ bvn_number: '22000000002' } as never, '22000000001')).toBe(false)
  })
})

describe('a phone', () => {
  it('is compared by its ten digits with every phone of the record', () => {
    expect(isPhoneOf(PHONE, [null, '+2348031234567'])).toBe(true)
    expect(isPhoneOf(PHONE, ['08031234567'])).toBe(true)
    expect(isPhoneOf(PHONE, ['08031234568', null])).toBe(false)
    expect(isPhoneOf(PHONE, [])).toBe(false)
  })
})

describe('a failure', () => {
  const toDecision = (cause: unknown) => ({
    outcome: 'source_bad_response' as const,
    error: new AppError('source_bad_response', { cause }),
  })

  it.each(['mixed_phones', 'names_differ'] as const)('by %s counts as a wrong guess', (problem) => {
    expect(isFailedGuess(toDecision(new SourceError('dojah', 'bad_response', { problem })))).toBe(true)
  })

  it.each(['bad_response', 'timeout', 'unreachable'] as const)('by %s does not', (reason) => {
    expect(isFailedGuess(toDecision(new SourceError('dojah', reason)))).toBe(false)
    expect(isFailedGuess(toDecision(new Error('names_differ')))).toBe(false)
  })
})
