import { describe, expect, it } from 'vitest'
import { type HttpReply, type HttpRequest, SourceError } from '../../../src/sources/source.ts'
import { useShippedFile } from '../shipped-file.ts'
import bvn from './bvn.json' with { type: 'json' }
import nin from './nin.json' with { type: 'json' }

const { create, toNinRecord, toBvnRecord } = useShippedFile('prembly')

const values = {
  url: 'https://prembly.example.com',
  price: 0,
  dailyCap: undefined,
  connections: 512,
  api_key: 'key',
  app_id: undefined,
  vnin_path: '/vnin',
  nin_path: '/nin_wo_face',
  nin_field: 'number',
  bvn_path: '/bvn',
  not_found: undefined,
}
const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }

const open = (reply: HttpReply, requests: HttpRequest[] = []) =>
  create(values, {
    send: async (request: HttpRequest) => {
      requests.push(request)
      return reply
    },
  })
const find = async (reply: HttpReply, requests?: HttpRequest[]) =>
  open(reply, requests).findNin?.({ nin: '12345678901', phone: '8031234567' }, call)

it('sends the NIN in the configured field, and no app id when the account has none', async () => {
  const requests: HttpRequest[] = []
  await find({ status: 200, body: nin }, requests)
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/nin_wo_face',
      headers: { 'x-api-key': 'key' },
      body: { number: '12345678901' },
    },
  ])
})

it.each(['data', 'nin_data'])('finds a NIN in %s', async (name) => {
  const body = { ...nin, nin_data: null, [name]: nin.nin_data }
  expect(await find({ status: 200, body })).toMatchObject({ found: true, reference: 'pb-fixture-nin' })
})

it.each(['data', 'bvn_data'])('finds a BVN in %s', async (name) => {
  const body = { ...bvn, data: null, [name]: bvn.data }
  const answer = open({ status: 200, body }).findBvn?.({ bvn: '02234567890', phone: '8031234567' }, call)
  expect(await answer).toMatchObject({ found: true, reference: 'pb-fixture-bvn' })
})

it.each([200, 400, 404])('returns not found for the code 01 with %s', async (status) => {
  expect(await find({ status, body: { status: true, response_code: '01' } })).toEqual({ found: false })
})

it.each([200, 400, 404])(
  'reads the code 07 with %s as a watch list entry, not as "no such BVN"',
  async (status) => {
    const source = open({ status, body: { status: false, response_code: '07' } })
    expect(await source.findBvn?.({ bvn: '02234567890', phone: '8031234567' }, call)).toEqual({
      found: false,
      watchlisted: true,
    })
  },
)

it.each([
  ['02', 200, '02', 'unreachable'],
  ['03', 200, '03', 'refused'],
  ['07, which is about BVNs, for a NIN', 200, '07', 'bad_response'],
  ['no code', 200, undefined, 'bad_response'],
  ['01 from a server that fails', 500, '01', 'unreachable'],
  ['01 with wrong credentials', 401, '01', 'refused'],
  ['00 with 400', 400, '00', 'bad_response'],
])('fails after %s (%i): %s', async (_what, status, response_code, reason) => {
  await expect(find({ status, body: { ...nin, response_code } })).rejects.toMatchObject({
    name: 'SourceError',
    reason,
  })
})

it.each([
  ['a verification that is pending', { ...nin, verification: { status: 'PENDING' } }],
  ['no person', { ...nin, nin_data: null }],
])('rejects the code 00 with %s', async (_what, body) => {
  await expect(find({ status: 200, body })).rejects.toMatchObject({ reason: 'bad_response' })
})

it('takes the BVN of the basic product from the part that repeats the request', async () => {
  const { bvn: _, ...data } = bvn.data
  const findBvn = (request_data: unknown) =>
    open({ status: 200, body: { ...bvn, data, request_data } }).findBvn?.(
      { bvn: '02234567890', phone: '1' },
      call,
    )
  expect(await findBvn({ number: '02234567890' })).toMatchObject({ record: { bvn_number: '02234567890' } })
  expect(await findBvn(undefined)).toMatchObject({ record: { bvn_number: '' } })
})

describe('a NIN of Prembly', () => {
  const record = toNinRecord(nin, '00000000000')

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
    const other = toNinRecord({ data: data }, '12345678901')
    expect(other.nin_number).toBe('00000000001')
    expect(other.personal_info).toMatchObject({ first_name: 'ADA', height: '170' })
    expect(other.residential_info.address).toBe('3 Made-up Road')
  })

  it('has the requested number only when the reply has no NIN field, or null', () => {
    expect(toNinRecord({ data: { firstname: 'ADA' } }, '12345678901').nin_number).toBe('12345678901')
    expect(toNinRecord({ data: { nin: null } }, '12345678901').nin_number).toBe('12345678901')
    expect(toNinRecord({ data: { nin: '' } }, '12345678901').nin_number).toBe('')
    expect(toNinRecord({ data: { nin: '****' } }, '12345678901').nin_number).toBe('****')
  })
})

describe('a BVN of Prembly', () => {
  it('is converted to the shape of the contract', () => {
    const record = toBvnRecord(bvn)
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
    expect(toBvnRecord({ data: { watchListed } }).watchlisted).toBe(told)
  })

  it('has no number when the reply has none', () => {
    expect(toBvnRecord({ data: { firstName: 'NGOZI' } }).bvn_number).toBe('')
  })
})

it('reads the code as text or as a number', async () => {
  for (const response_code of ['00', '0', 0])
    expect(await find({ status: 200, body: { ...nin, response_code } })).toMatchObject({ found: true })
  const noFunds = find({ status: 200, body: { response_code: 3 } })
  await expect(noFunds).rejects.toMatchObject({ reason: 'refused', problem: 'funds' })
})

it.each([null, undefined, 'text', {}, { response_code: null }])(
  'rejects a reply without a code: %j',
  async (body) => {
    await expect(find({ status: 200, body })).rejects.toThrow(SourceError)
  },
)

it.each([undefined, null])(
  'accepts a reply whose verification is %j, as in the samples',
  async (verification) => {
    expect(await find({ status: 200, body: { ...nin, verification } })).toMatchObject({ found: true })
  },
)

it.each([{}, { status: 'PENDING' }, { status: 'NOT-VERIFIED' }, { status: true }])(
  'rejects a reply whose verification is %j',
  async (verification) => {
    await expect(find({ status: 200, body: { ...nin, verification } })).rejects.toThrow(SourceError)
    expect(await find({ status: 200, body: nin })).toMatchObject({ reference: 'pb-fixture-nin' })
  },
)
