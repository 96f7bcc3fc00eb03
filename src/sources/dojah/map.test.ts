import { describe, expect, it } from 'vitest'
import { createReader } from '../wire.ts'
import bvn from './fixtures/bvn.json' with { type: 'json' }
import nin from './fixtures/nin.json' with { type: 'json' }
import { toBvnRecord, toNinRecord } from './map.ts'
import { settings } from './settings.ts'
import { BvnReply, NinReply } from './wire.ts'

const readNin = createReader('dojah', NinReply)
const readBvn = createReader('dojah', BvnReply)

describe('a NIN of Dojah', () => {
  const record = toNinRecord(readNin(nin), '12345678901')

  it('has the requested number when the reply has none', () => {
    expect(record.nin_number).toBe('12345678901')
  })

  it('keeps a number that the reply has, even a wrong one', () => {
    const reply = { entity: { ...nin.entity, nin: 99999999999 } }
    expect(toNinRecord(readNin(reply), '12345678901').nin_number).toBe('99999999999')
  })

  it('is also read in the format of the advance product', () => {
    const entity = {
      nin: '12345678901',
      first_name: 'ADA',
      last_name: 'OBI',
      date_of_birth: '1990-01-05',
      phone_number: '08031234567',
      gender: 'Female',
      residence_address_line_1: '2, ANON STREET',
      residence_address_line_2: '',
    }
    const advance = toNinRecord(readNin({ entity }), '12345678901')
    expect(advance.residential_info.address).toBe('2, ANON STREET')
    expect(advance.personal_info).toMatchObject({
      full_name: 'ADA OBI',
      gender: 'f',
      phone_number: '08031234567',
      date_of_birth: '05-01-1990',
    })
  })

  it('comes from the product that returns the NIN, by default', () => {
    expect(settings.ninPath.fallback).toBe('/api/v1/kyc/nin/advance')
  })

  it('is converted to the shape of the contract', () => {
    expect(record.personal_info).toMatchObject({
      last_name: 'BASSEY',
      full_name: 'ADEWALE BASSEY',
      maiden_name: '',
      gender: 'm',
      phone_number: '08031234567',
      date_of_birth: '05-01-1990',
      formatted_date_of_birth: 'Jan 5, 1990',
      height: '176',
      image_url: '',
    })
    expect(record.next_of_kin).toMatchObject({
      firstname: '****',
      address: '2 Invented Close Flat 3',
      lga: '',
    })
    expect(record.indigene_info.place_of_origin).toBe('****')
  })

  it('reads the newer names where the older ones are empty', () => {
    const entity = {
      ...{ surname: '', telephone: '', birth_date: '' },
      ...{ first_name: 'ADA', last_name: 'OBI', phone_number: '08031234567', date_of_birth: '1990-01-05' },
    }
    expect(toNinRecord(readNin({ entity }), '12345678901').personal_info).toMatchObject({
      last_name: 'OBI',
      phone_number: '08031234567',
      date_of_birth: '05-01-1990',
    })
  })

  it('reads the newer, shorter shape', () => {
    const entity = {
      first_name: 'ADA',
      last_name: 'OBI',
      phone_number: '08031234567',
      date_of_birth: '1990-01-05',
    }
    expect(toNinRecord(readNin({ entity }), '12345678901').personal_info).toMatchObject({
      full_name: 'ADA OBI',
      phone_number: '08031234567',
      date_of_birth: '05-01-1990',
    })
  })
})

it('a BVN of Dojah is converted to the shape of the contract', () => {
  const record = toBvnRecord(readBvn(bvn))
  expect(record).toMatchObject({
    bvn_number: '02234567890',
    enrolment_bank: '058',
    formatted_registration_date: 'March 21, 2018',
    nin: '',
    watchlisted: null,
  })
  expect(record.personal_info).toMatchObject({
    full_name: 'NGOZI EFFIONG',
    gender: 'Female',
    phone_number: '08031234567',
    phone_number_2: null,
    date_of_birth: '28-Jun-1985',
    formatted_date_of_birth: 'June 28, 1985',
  })
})
