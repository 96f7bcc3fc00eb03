import { describe, expect, it } from 'vitest'
import type { Setting } from '../../../src/settings/setting.ts'
import { type HttpReply, type HttpRequest, SourceError } from '../../../src/sources/source.ts'
import { useShippedFile } from '../shipped-file.ts'
import bvn from './bvn.json' with { type: 'json' }
import nin from './nin.json' with { type: 'json' }

const { create, toNinRecord, toBvnRecord, settings } = useShippedFile('blusalt')

const values = {
  url: 'https://blusalt.example.com',
  price: 0,
  dailyCap: undefined,
  connections: 512,
  client_id: 'client',
  app_name: 'app',
  api_key: 'key',
  public_key: undefined,
  nin_path: '/NIN',
  bvn_path: '/BVN',
  mismatch: /not match/i,
  not_found: undefined,
}
const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }

const find = async (reply: HttpReply, requests: HttpRequest[] = []) => {
  const send = async (request: HttpRequest) => {
    requests.push(request)
    return reply
  }
  return create(values, { send }).findNin?.({ nin: '01234567890', phone: '8031234567' }, call)
}
const error = (status: number, status_code: unknown, message: unknown = '') => ({
  status,
  body: { status_code, message },
})

it('sends the phone, and no public key when the account has none', async () => {
  const requests: HttpRequest[] = []
  await find({ status: 200, body: nin }, requests)
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/NIN',
      headers: { clientid: 'client', appname: 'app', apikey: 'key' },
      body: { nin_number: '01234567890', phone_number: '08031234567' },
    },
  ])
})

it('keeps the vendor’s reference', async () => {
  expect(await find({ status: 200, body: nin })).toMatchObject({ found: true, reference: 'BLU-FIXTURE-NIN' })
})

it.each([
  ['404 of the API', error(404, 404, 'Record not found')],
  ['404 within 200', error(200, '404', 'NIN not found.')],
  ['422 about the phone', error(422, 422, 'Phone number does not match')],
  ['400 about the phone within 200', error(200, 400, ['phone does NOT MATCH'])],
])('returns not found for a %s', async (_what, reply) => {
  expect(await find(reply)).toEqual({ found: false })
})

it.each([
  ['Phone number mismatch', true],
  ['phone_number does not match our records', true],
  ['The number is not linked to this NIN', true],
  ['No match for this request type', false],
  ['Request does not match the schema', false],
  ['Rate plan mismatch', false],
  ['Phone number does not match.', true],
  ['Phone number does not match the required format', false],
  ['Phone number does not match format', false],
  ['phone does not match at this time', false],
])('by default, recognises %j as a phone mismatch: %s', (message, isAboutPhone) => {
  const { read, fallback = '' } = settings.mismatch as Setting<RegExp>
  expect(read(fallback).test(message)).toBe(isAboutPhone)
})

it.each([
  ['404 of a wrong path', { status: 404, body: undefined }, 'bad_response'],
  ['404 of the API without a text', error(404, 404), 'bad_response'],
  ['404 of a path, in the vendor’s envelope', error(404, 404, 'Cannot POST /v2/NIN'), 'bad_response'],
  ['400 about a format', error(400, 400, 'Phone number does not match the required format'), 'bad_response'],
  ['422 about a temporary mismatch', error(422, 422, 'Could not match, try again later'), 'unreachable'],
  ['422 about something else', error(422, 422, 'nin_number is required'), 'bad_response'],
  ['400 without a text', error(400, 400), 'bad_response'],
  ['401 within 200', error(200, 401), 'refused'],
  ['402 within 200', error(200, 402), 'refused'],
  ['503 within 200', error(200, 503), 'unreachable'],
  ['200 without a code', { status: 200, body: { results: nin.results } }, 'bad_response'],
  ['200 without results', error(200, 200), 'bad_response'],
])('fails after a %s: %s', async (_what, reply, reason) => {
  await expect(find(reply)).rejects.toMatchObject({ name: 'SourceError', reason })
})

describe('a NIN of Blusalt', () => {
  const record = toNinRecord(nin)

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
    async (verification_status) => {
      const body = { ...nin, results: { ...nin.results, verification_status } }
      await expect(find({ status: 200, body })).rejects.toThrow(SourceError)
    },
  )

  it('has no number when the reply has none', () => {
    expect(toNinRecord({ results: {} }).nin_number).toBe('')
  })
})

it('a BVN of Blusalt is converted to the shape of the contract', () => {
  const record = toBvnRecord(bvn)
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

it('reads the vendor’s code as a number or as text', async () => {
  for (const status_code of [200, '200'])
    expect(await find({ status: 200, body: { ...nin, status_code } })).toMatchObject({ found: true })
})

it.each([null, undefined, 'text', {}, { status_code: null }, []])(
  'rejects a reply without its code: %j',
  async (body) => {
    await expect(find({ status: 200, body })).rejects.toThrow(SourceError)
  },
)
