import { describe, expect, it } from 'vitest'
import { SourceError } from '../source.ts'
import { createReader } from '../wire.ts'
import bvn from './fixtures/bvn.json' with { type: 'json' }
import nin from './fixtures/nin.json' with { type: 'json' }
import { toBvnRecord, toNinRecord } from './map.ts'
import { BvnData, NinData, NinReply, toCode } from './wire.ts'

const readNinData = createReader('prembly', NinData)
const readBvnData = createReader('prembly', BvnData)

describe('a NIN of Prembly', () => {
  const record = toNinRecord(readNinData(nin.nin_data), '00000000000')

  it('is converted from the field names of NIMC to the shape of the contract', () => {
    expect(record.nin_number).toBe('12345678901')
    expect(record.personal_info).toMatchObject({
      first_name: 'ADEWALE',
      middle_name: '',
      full_name: 'ADEWALE BASSEY',
      phone_number: '08031234567',
      date_of_birth: '05-01-1990',
      formatted_date_of_birth: 'Jan 5, 1990',
      height: '176',
      image_url: '',
    })
    expect(record.residential_info).toMatchObject({
      address: '1 Synthetic Street',
      residence_status: 'birth',
    })
    expect(record.next_of_kin).toMatchObject({ surname: '****', address: '2 Invented Close', lga: '' })
    expect(record.indigene_info.place_of_origin).toBe('****')
  })

  it('also reads the other field names', () => {
    const data = {
      nin: 1,
      firstname: 'ADA',
      firsname: 'X',
      height: '170',
      residence_address: '3 Made-up Road',
    }
    const other = toNinRecord(readNinData(data), '12345678901')
    expect(other.nin_number).toBe('00000000001')
    expect(other.personal_info).toMatchObject({ first_name: 'ADA', height: '170' })
    expect(other.residential_info.address).toBe('3 Made-up Road')
  })

  it('has the requested number only when the reply has no NIN field, or null', () => {
    expect(toNinRecord(readNinData({ firstname: 'ADA' }), '12345678901').nin_number).toBe('12345678901')
    expect(toNinRecord(readNinData({ nin: null }), '12345678901').nin_number).toBe('12345678901')
    expect(toNinRecord(readNinData({ nin: '' }), '12345678901').nin_number).toBe('')
    expect(toNinRecord(readNinData({ nin: '****' }), '12345678901').nin_number).toBe('****')
  })
})

describe('a BVN of Prembly', () => {
  it('is converted to the shape of the contract', () => {
    const record = toBvnRecord(readBvnData(bvn.data))
    expect(record).toMatchObject({
      bvn_number: '02234567890',
      enrolment_bank: '058',
      formatted_registration_date: 'March 21, 2018',
      nin: '01234567890',
      watchlisted: null,
    })
    expect(record.personal_info).toMatchObject({
      email: '',
      phone_number: '08031234567',
      phone_number_2: '08051234567',
      date_of_birth: '28-Jun-1985',
      formatted_date_of_birth: 'June 28, 1985',
    })
    expect(JSON.stringify(record)).not.toContain('/9j/')
  })

  it.each([
    [true, 'YES'],
    ['YES', 'YES'],
    [false, null],
    [null, null],
  ])('reads the watch list entry %s as %s', (watchListed, told) => {
    expect(toBvnRecord(readBvnData({ watchListed })).watchlisted).toBe(told)
  })

  it('has no number when the reply has none', () => {
    expect(toBvnRecord(readBvnData({ firstName: 'NGOZI' })).bvn_number).toBe('')
  })
})

it('reads the code as text or as a number, and nothing else', () => {
  expect([nin, bvn, { response_code: 3 }].map(toCode)).toEqual(['00', '00', '03'])
  expect([null, undefined, 'text', {}, { response_code: null }].map(toCode)).toEqual(Array(5).fill(''))
})

it.each([undefined, null])('accepts a reply whose verification is %j, as in the samples', (verification) => {
  const read = createReader('prembly', NinReply)
  expect(read({ ...nin, verification }).nin_data).toBeDefined()
})

it.each([{}, { status: 'PENDING' }, { status: 'NOT-VERIFIED' }, { status: true }])(
  'rejects a reply whose verification is %j',
  (verification) => {
    const read = createReader('prembly', NinReply)
    expect(() => read({ ...nin, verification })).toThrow(SourceError)
    expect(read(nin).verification?.reference).toBe('pb-fixture-nin')
  },
)
