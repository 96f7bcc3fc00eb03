import { describe, expect, it } from 'vitest'
import { SourceError } from '../source.ts'
import { createReader } from '../wire.ts'
import bvn from './fixtures/bvn.json' with { type: 'json' }
import nin from './fixtures/nin.json' with { type: 'json' }
import { toBvnRecord, toNinRecord } from './map.ts'
import { BvnReply, NinReply, toCode } from './wire.ts'

const readNin = createReader('blusalt', NinReply)
const readBvn = createReader('blusalt', BvnReply)

describe('a NIN of Blusalt', () => {
  const record = toNinRecord(readNin(nin))

  it('is converted to the shape of the contract', () => {
    expect(record).toMatchObject({ nin_number: '01234567890', document_no: '' })
    expect(record.personal_info).toMatchObject({
      middle_name: '',
      full_name: 'ADEWALE BASSEY',
      gender: 'm',
      phone_number: '08031234567',
      date_of_birth: '05-01-1990',
      formatted_date_of_birth: 'Jan 5, 1990',
      height: '176',
      image_url: '',
    })
  })

  it('keeps masked values masked, and accepts sections that are null or missing', () => {
    expect(record.next_of_kin).toMatchObject({ surname: '****', address: '****', lga: '' })
    expect(record.residential_info.address).toBe('')
    expect(record.education_profession.profession).toBe('')
  })

  it('has only fields of the contract', () => {
    expect(record).not.toHaveProperty('request_reference')
    expect(record).not.toHaveProperty('service_type')
  })

  it.each(['PENDING', 'NOT VERIFIED', false])(
    'is a bad response with the status %s',
    (verification_status) => {
      const reply = { results: { ...nin.results, verification_status } }
      expect(() => readNin(reply)).toThrow(SourceError)
    },
  )

  it('has no number when the reply has none', () => {
    expect(toNinRecord(readNin({ results: {} })).nin_number).toBe('')
  })
})

it('a BVN of Blusalt is converted to the shape of the contract', () => {
  const record = toBvnRecord(readBvn(bvn))
  expect(record).toMatchObject({
    bvn_number: '22345678901',
    enrolment_branch: '',
    enrolment_bank: '44',
    formatted_registration_date: 'March 21, 2018',
    nin: '01234567890',
    watchlisted: null,
  })
  expect(record.personal_info).toMatchObject({
    full_name: 'NGOZI ADA EFFIONG',
    gender: 'Female',
    phone_number: '08031234567',
    phone_number_2: null,
    date_of_birth: '28-Jun-1985',
    formatted_date_of_birth: 'June 28, 1985',
  })
  expect(JSON.stringify(record)).not.toMatch(/\/9j\/|pictures/)
})

it('reads the vendor’s code as a number or as text, and nothing else', () => {
  expect([nin, bvn].map(toCode)).toEqual([200, 200])
  expect([null, undefined, 'text', {}, { status_code: null }, []].map(toCode)).toEqual(
    Array(6).fill(Number.NaN),
  )
})
