import { describe, expect, it } from 'vitest'
import type { HttpReply } from '../../../src/sources/source.ts'
import { useShippedFile } from '../shipped-file.ts'
import bvn from './bvn.json' with { type: 'json' }
import nin from './nin.json' with { type: 'json' }

const { create, toNinRecord, toBvnRecord, settings } = useShippedFile('dojah')

const values = {
  url: 'https://dojah.example.com',
  price: 0,
  dailyCap: undefined,
  connections: 512,
  app_id: 'app',
  secret: 'secret',
  vnin_path: '/api/v1/kyc/vnin',
  nin_path: '/nin',
  bvn_path: '/bvn',
  not_found: undefined,
}
const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }

describe.each(['nin', 'bvn'] as const)('an error for a %s', (kind) => {
  const find = (body: unknown, status = 404, notFound?: readonly string[]) => {
    const source = create(
      { ...values, not_found: notFound },
      { send: async (): Promise<HttpReply> => ({ status, body }) },
    )
    return kind === 'nin'
      ? source.findNin?.({ nin: '12345678901', phone: '8031234567' }, call)
      : source.findBvn?.({ bvn: '12345678901', phone: '8031234567' }, call)
  }

  it.each([
    [404, 'BVN not found'],
    [404, 'Record not found.'],
    [400, 'Wrong NIN Inputted'],
  ])('with %i and %j means that there is no such person', async (status, error) => {
    expect(await find({ error }, status)).toEqual({ found: false })
  })

  it('means that too with a text from the settings', async () => {
    const error = 'Nothing known about this one'
    await expect(find({ error })).rejects.toMatchObject({ problem: 'unlisted', fault: 'request' })
    expect(await find({ error }, 404, ['nothing known about this one'])).toEqual({ found: false })
  })

  it.each([
    ['App not found', 'refused', 'unknown_account'],
    ['Invalid API key', 'refused', 'credentials'],
    ['Unable to reach service at this time', 'unreachable', 'vendor_down'],
    ['Your balance is low, pls visit the dashboard to top up', 'refused', 'funds'],
  ])('with the text %j is a failure of the source: %s, %s', async (error, reason, problem) => {
    for (const status of [400, 404])
      await expect(find({ error }, status)).rejects.toMatchObject({ reason, problem, fault: 'source' })
  })

  it('about a path may be one about a person: then it does not count against the source', async () => {
    const path = { reason: 'bad_response', problem: 'unknown_path', fault: 'request' }
    await expect(find({ error: 'Endpoint not found' }, 404)).rejects.toMatchObject(path)
  })

  it('about the format of the request does not count against the source', async () => {
    await expect(find({ error: 'nin must be 11 digits' }, 400)).rejects.toMatchObject({
      problem: 'rejected',
      fault: 'request',
    })
  })

  it.each([
    { statusCode: 404, message: 'Cannot GET /nin', error: 'Not Found' },
    { status: 404, error: 'Not Found', path: '/nin' },
    { statusCode: 404, error: 'Some text' },
    { error: 'Not Found' },
    { error: 'Cannot GET /nin' },
    { error: { text: 'x' } },
    {},
    null,
    undefined,
  ])('of a web framework is a bad response: %j', async (body) => {
    await expect(find(body)).rejects.toMatchObject({ name: 'SourceError', reason: 'bad_response' })
  })
})

describe('a NIN of Dojah', () => {
  const record = toNinRecord(nin, '12345678901')

  it('has the requested number when the reply has none', () => {
    expect(record.nin_number).toBe('12345678901')
  })

  it('keeps a number that the reply has, even a wrong one', () => {
    const reply = { entity: { ...nin.entity, nin: 99999999999 } }
    expect(toNinRecord(reply, '12345678901').nin_number).toBe('99999999999')
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
    const advance = toNinRecord({ entity }, '12345678901')
    expect(advance.residential_info.address).toBe('2, ANON STREET')
    expect(advance.personal_info).toMatchObject({
      full_name: 'ADA OBI',
      gender: 'f',
      phone_number: '08031234567',
      date_of_birth: '05-01-1990',
    })
  })

  it('comes from the product that returns the NIN, by default', () => {
    expect(settings.nin_path?.fallback).toBe('/api/v1/kyc/nin/advance')
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
    expect(toNinRecord({ entity }, '12345678901').personal_info).toMatchObject({
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
    expect(toNinRecord({ entity }, '12345678901').personal_info).toMatchObject({
      full_name: 'ADA OBI',
      phone_number: '08031234567',
      date_of_birth: '05-01-1990',
    })
  })
})

it('a BVN of Dojah is converted to the shape of the contract', () => {
  const record = toBvnRecord(bvn)
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
