import { expect, it } from 'vitest'
import type { HttpReply, HttpRequest } from '../../../src/sources/source.ts'
import { useShippedFile } from '../shipped-file.ts'
import bvn from './bvn.json' with { type: 'json' }
import nin from './nin.json' with { type: 'json' }

const { create, toNinRecord, toBvnRecord } = useShippedFile('youverify')

const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }

const open = (reply: HttpReply, premium: 'on' | 'off' = 'off', requests: HttpRequest[] = []) =>
  create(
    {
      url: 'https://youverify.example.com',
      price: 0,
      dailyCap: undefined,
      connections: 512,
      token: 'token',
      vnin_path: '/v2/api/identity/ng/vnin',
      nin_path: '/nin',
      bvn_path: '/bvn',
      premium,
      not_found: undefined,
    },
    {
      send: async (request: HttpRequest) => {
        requests.push(request)
        return reply
      },
    },
  )
const find = async (reply: HttpReply) =>
  open(reply).findNin?.({ nin: '12345678901', phone: '8031234567' }, call)
const notFound = (reason: string | null) => ({
  status: 200,
  body: { ...nin, data: { id: nin.data.id, status: 'not_found', reason, firstName: null, lastName: null } },
})
const withStatus = (status: unknown) => ({ status: 200, body: { ...nin, data: { ...nin.data, status } } })

it.each([
  [
    'off',
    [
      { id: '12345678901', isSubjectConsent: true },
      { id: '02234567890', isSubjectConsent: true },
    ],
  ],
  [
    'on',
    [
      { id: '12345678901', isSubjectConsent: true, premiumNin: true },
      { id: '02234567890', isSubjectConsent: true, premiumBVN: true },
    ],
  ],
] as const)('sends the flags of premium %s', async (premium, bodies) => {
  const requests: HttpRequest[] = []
  await open({ status: 200, body: nin }, premium, requests).findNin?.(
    { nin: '12345678901', phone: '1' },
    call,
  )
  await open({ status: 200, body: bvn }, premium, requests).findBvn?.(
    { bvn: '02234567890', phone: '1' },
    call,
  )
  expect(requests.map(({ path }) => path)).toEqual(['/nin', '/bvn'])
  expect(requests.map(({ headers }) => headers)).toEqual([{ token: 'token' }, { token: 'token' }])
  expect(requests.map(({ body }) => body)).toEqual(bodies)
})

it('returns found or not found by the status in the data, with the vendor’s reference', async () => {
  expect(await find(withStatus('found'))).toMatchObject({ found: true, reference: 'yv-fixture-nin' })
  expect(await find(notFound(null))).toEqual({ found: false, reference: 'yv-fixture-nin' })
})

it('rejects "not_found" together with a record', async () => {
  await expect(find(withStatus('not_found'))).rejects.toMatchObject({ problem: 'contradictory' })
})

it('reports a failure for "not_found" when the reason is temporary', async () => {
  await expect(find(notFound('NIMC is temporarily unavailable'))).rejects.toMatchObject({
    problem: 'vendor_down',
  })
})

it.each(['pending', 'FOUND', true, null, undefined])('rejects the status %s', async (status) => {
  await expect(find(withStatus(status))).rejects.toMatchObject({ reason: 'bad_response' })
})

it.each([
  [402, 'refused'],
  [503, 'unreachable'],
  [undefined, 'bad_response'],
])('fails after the code %s, although the HTTP status is 200: %s', async (statusCode, reason) => {
  const body = { ...nin, statusCode }
  await expect(find({ status: 200, body })).rejects.toMatchObject({ name: 'SourceError', reason })
})

it.each([false, 'false', null])('rejects a record with success: %j', async (success) => {
  const answer = find({ status: 200, body: { ...nin, success } })
  await expect(answer).rejects.toMatchObject({ reason: 'bad_response', problem: 'contradictory' })
})

it('does not read a 404 of a wrong path as "not found"', async () => {
  await expect(find({ status: 404, body: undefined })).rejects.toMatchObject({ reason: 'bad_response' })
})

it('a NIN of Youverify is converted to the shape of the contract', () => {
  const record = toNinRecord(nin)
  expect(record).toMatchObject({ nin_number: '12345678901', document_no: '' })
  expect(record.personal_info).toMatchObject({
    middle_name: '',
    full_name: 'ADEWALE BASSEY',
    gender: 'm',
    phone_number: '08031234567',
    date_of_birth: '05-01-1990',
    formatted_date_of_birth: 'Jan 5, 1990',
    religion: '****',
    image_url: '',
  })
  expect(record.next_of_kin).toMatchObject({ firstname: '', state: 'Lagos' })
  expect(record.residential_info).toMatchObject({ address: '1 Synthetic Street', lga_of_residence: 'Ikeja' })
  expect(record.indigene_info).toMatchObject({ lga_of_birth: 'Ikeja', country_of_birth: 'nigeria' })
  expect(JSON.stringify(record)).not.toMatch(/\/9j\/|VerificationRequest/)
})

it('a BVN of Youverify is converted to the shape of the contract', () => {
  const record = toBvnRecord(bvn)
  expect(record).toMatchObject({
    bvn_number: '02234567890',
    enrolment_branch: '',
    enrolment_bank: '058',
    formatted_registration_date: null,
    nin: '01234567890',
    watchlisted: null,
  })
  expect(record.personal_info).toMatchObject({
    full_name: 'NGOZI ADA EFFIONG',
    email: '',
    gender: 'Female',
    phone_number: '08031234567',
    phone_number_2: null,
    date_of_birth: '28-Jun-1985',
    formatted_date_of_birth: 'June 28, 1985',
  })
  expect(record.residential_info.residential_address).toBe('')
})

it('reads every documented field of a BVN', () => {
  const data = {
    ...bvn.data,
    nameOnCard: 'NGOZI EFFIONG',
    registrationDate: '2018-03-21',
    levelOfAccount: 'Level 2',
    watchListed: 'YES',
    otherMobile: '2348091234567',
    maritalStatus: 'Single',
    lgaOfOrigin: 'Uyo',
    stateOfOrigin: 'Akwa Ibom',
    address: { addressLine: '1 Synthetic Street', town: 'Ikeja', lga: 'Ikeja', state: 'Lagos' },
  }
  expect(toBvnRecord({ ...bvn, data })).toMatchObject({
    name_on_card: 'NGOZI EFFIONG',
    formatted_registration_date: 'March 21, 2018',
    level_of_account: 'Level 2',
    watchlisted: 'YES',
    personal_info: {
      phone_number: '08031234567',
      phone_number_2: '08091234567',
      marital_status: 'Single',
      lga_of_origin: 'Uyo',
      state_of_origin: 'Akwa Ibom',
    },
    residential_info: {
      state_of_residence: 'Lagos',
      lga_of_residence: 'Ikeja',
      residential_address: '1 Synthetic Street',
    },
  })
})

it.each([undefined, null, '1 Synthetic Street', {}])('an address that is %j is empty', (address) => {
  const { residential_info } = toNinRecord({ data: { address } })
  expect(Object.values(residential_info)).toEqual(['', '', '', ''])
})

it('has no number when the reply has none, because the vendor always returns it', () => {
  expect(toNinRecord({ data: {} }).nin_number).toBe('')
  expect(toBvnRecord({ data: {} }).bvn_number).toBe('')
})

it('reads the vendor’s code as a number or as text', async () => {
  for (const statusCode of [200, '200'])
    expect(await find({ status: 200, body: { ...nin, statusCode } })).toMatchObject({ found: true })
})

it.each([null, 'text', {}, { statusCode: null }])('rejects a reply without its code: %j', async (body) => {
  await expect(find({ status: 200, body })).rejects.toMatchObject({
    name: 'SourceError',
    reason: 'bad_response',
  })
})
