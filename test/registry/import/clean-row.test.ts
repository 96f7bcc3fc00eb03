import { describe, expect, it } from 'vitest'
import { createRowCleaner } from '../../../src/registry/import/clean-row.ts'
import { toBvnRecord } from '../../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../../src/sources/sandbox/nin-record.ts'

const NIN = '12345678901'
const PHONE = '08031234567'
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(8)])
const JPEG = Buffer.from('ffd8ffe000104a46', 'hex')

const cleanNin = createRowCleaner('nin')
const cleanBvn = createRowCleaner('bvn')
const nin = (info: object = {}, more: object = {}) =>
  cleanNin({ nin_number: NIN, personal_info: { phone_number: PHONE, ...info }, ...more })
const bvn = (info: object = {}, more: object = {}) =>
  cleanBvn({ bvn_number: NIN, personal_info: { phone_number: PHONE, ...info }, ...more })

describe('a complete record', () => {
  it('has nothing where the file has a word for nothing', () => {
    const { record } = nin({
      first_name: 'Ada',
      middle_name: 'N/A',
      last_name: 'null',
      full_name: 'nil',
      religion: ' None ',
    })
    expect(record.personal_info).toMatchObject({
      middle_name: '',
      last_name: '',
      full_name: 'Ada',
      religion: '',
    })
    expect(bvn({ phone_number_2: 'N/A' }).record.personal_info).toMatchObject({ phone_number_2: null })
  })

  it('has a hidden full name where the file hides a part of it', () => {
    const { record } = nin({ first_name: 'Ngozi', last_name: '****' })
    expect(record.personal_info).toMatchObject({ first_name: 'Ngozi', full_name: '****' })
  })

  it.each(['NO', 'false', 'Not watch-listed', 'N/A', '-'])(
    'has no watch list entry where the file has %s',
    (watchlisted) => {
      expect(bvn({}, { watchlisted }).record).toMatchObject({ watchlisted: null })
      expect(bvn({}, { watchlisted: 'YES' }).record).toMatchObject({ watchlisted: 'YES' })
    },
  )

  it('of a NIN is not changed, except for the URL of the picture', () => {
    const given = toNinRecord(NIN, '8031234567')
    const result = {
      request_reference: 'ver_1',
      verification_status: 'VERIFIED',
      service_type: 'NIN',
      ...given,
    }
    expect(cleanNin(result).record).toEqual({
      ...given,
      personal_info: { ...given.personal_info, image_url: '' },
    })
  })

  it('of a BVN is not changed', () => {
    const given = toBvnRecord('22345678901', '8031234567')
    expect(cleanBvn(given).record).toEqual(given)
  })
})

describe('a missing value', () => {
  it('becomes empty, or null where the contract allows it', () => {
    const { record } = bvn(
      { middle_name: null, phone_number_2: ' ' },
      { watchlisted: '', residential_info: null },
    )
    expect(record).toMatchObject({
      formatted_registration_date: null,
      watchlisted: null,
      nin: '',
      personal_info: { middle_name: '', phone_number_2: null },
      residential_info: { state_of_residence: '' },
    })
  })

  it('is computed where it can be', () => {
    const { record } = nin({ first_name: 'Ada', last_name: 'Obi', formatted_date_of_birth: '1990-01-05' })
    expect(record.personal_info).toMatchObject({
      full_name: 'Ada Obi',
      date_of_birth: '05-01-1990',
      formatted_date_of_birth: 'Jan 5, 1990',
    })
    expect(bvn({ date_of_birth: '5/1/1990' }).record.personal_info).toMatchObject({
      date_of_birth: '05-Jan-1990',
      formatted_date_of_birth: 'January 5, 1990',
    })
  })
})

describe('a value', () => {
  it('is trimmed and put on one line', () => {
    const { record } = nin({}, { residential_info: { address: ' 1, Broad Street\r\n\tLagos ' } })
    expect(record.residential_info).toMatchObject({ address: '1, Broad Street Lagos' })
  })

  it('that is masked is kept', () => {
    const { record } = bvn({ date_of_birth: '****', phone_number_2: '****', last_name: '****' })
    expect(record.personal_info).toMatchObject({
      date_of_birth: '****',
      formatted_date_of_birth: '',
      phone_number_2: '****',
      last_name: '****',
    })
  })

  it('may be a number for the height', () => {
    expect(nin({ height: 171.5 }).record.personal_info).toMatchObject({ height: '171.5' })
  })
})

describe('a row is rejected', () => {
  const readReason = (work: () => unknown) => {
    try {
      work()
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }

  it.each<[string, () => unknown]>([
    ['the row must be an object', () => cleanNin([])],
    ['the row must be an object', () => cleanNin(null)],
    ['personal_info must be an object', () => cleanNin({ nin_number: NIN, personal_info: 'x' })],
    ['nin_number is required', () => cleanNin({})],
    ['nin_number must be a string', () => nin({}, { nin_number: 12345678901 })],
    ['nin_number must be 11 digits', () => nin({}, { nin_number: '1234567890' })],
    ['personal_info.phone_number is required', () => nin({ phone_number: null })],
    ['personal_info.phone_number is required', () => cleanNin({ nin_number: NIN })],
    ['personal_info.phone_number must be a Nigerian mobile number', () => nin({ phone_number: '****' })],
    [
      'personal_info.phone_number has more than one phone: give one',
      () => nin({ phone_number: `${PHONE}, 08091234567` }),
    ],
    ['personal_info.phone_number is required', () => nin({ phone_number: 'N/A' })],
    ['personal_info.phone_number_2 must be a Nigerian mobile number', () => bvn({ phone_number_2: '1' })],
    ['personal_info.first_name must be a string', () => nin({ first_name: true })],
    ['personal_info.title must be a string', () => nin({ title: 1 })],
    ['personal_info.height must be a string', () => nin({ height: {} })],
    ['personal_info.title is longer than 500 characters', () => nin({ title: 'x'.repeat(501) })],
    ['personal_info.title has a control character', () => nin({ title: 'a\u0000b' })],
    ['personal_info.title has a control character', () => nin({ title: 'a\u009bb' })],
    [
      'personal_info.date_of_birth is not a date that can be read',
      () => nin({ date_of_birth: '31-02-1990' }),
    ],
    [
      'formatted_registration_date is not a date that can be read',
      () => bvn({}, { formatted_registration_date: 'soon' }),
    ],
    [
      'personal_info.date_of_birth and formatted_date_of_birth are different days',
      () => nin({ date_of_birth: '05-01-1990', formatted_date_of_birth: 'May 1, 1990' }),
    ],
    ['shoe_size is not a known field', () => nin({}, { shoe_size: 'x' })],
    ['personal_info.hat is not a known field', () => nin({ hat: 'x' })],
    ['__proto__ is not a known field', () => cleanNin(JSON.parse('{"__proto__":{}}'))],
    ['constructor is not a known field', () => nin({}, { constructor: 'x' })],
    ['[a name that is not shown] is not a known field', () => nin({}, { [PHONE]: 'x' })],
    ['picture is not a known field', () => bvn({}, { picture: PNG.toString('base64') })],
    ['picture must be a string', () => nin({}, { picture: 1 })],
    ['picture must be base64 or a data: URL', () => nin({}, { picture: 'https://example.com/a.png' })],
    ['picture must be a JPEG or a PNG', () => nin({}, { picture: 'R0lGODlh' })],
    [
      'picture must not be larger than 1 MiB',
      () => nin({}, { picture: Buffer.concat([PNG, Buffer.alloc(1024 * 1024)]).toString('base64') }),
    ],
  ])('%s', (reason, work) => expect(readReason(work)).toBe(reason))
})

describe('a picture', () => {
  it.each([
    ['a PNG as base64', PNG.toString('base64'), PNG],
    ['a JPEG as base64 without padding', JPEG.toString('base64').replaceAll('=', ''), JPEG],
    ['a data: URL', `data:image/jpeg;base64,${JPEG.toString('base64')}`, JPEG],
    ['none', '', undefined],
    ['null', null, undefined],
  ])('may be %s', (_what, picture, bytes) => {
    expect(nin({}, { picture }).picture).toEqual(bytes)
  })
})
