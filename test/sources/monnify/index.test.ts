import { afterEach, describe, expect, it } from 'vitest'
import { monnify } from '../../../src/simulator/monnify.ts'
import { toBvnPerson, toPhoneCoreOf } from '../../../src/simulator/people.ts'
import { openStandIn } from '../../../src/simulator/stand-in.ts'
import { checkVendorFile } from '../../../src/sources/vendor-file/check.ts'
import { bearer, openTestApp } from '../../app.ts'
import { useShippedFile } from '../shipped-file.ts'
import bvnRecord from './bvn.expected.json' with { type: 'json' }
import bvn from './bvn.json' with { type: 'json' }
import ninRecord from './nin.expected.json' with { type: 'json' }
import nin from './nin.json' with { type: 'json' }

const { ask: askWithToken, create, file, toNinRecord } = useShippedFile('monnify')
const DETAILS = { first_name: 'Ngozi Ada', last_name: 'Effiong', date_of_birth: '28-06-1985' }

/** Every reply also has the token. */
const ask = async (kind: 'nin' | 'bvn', status: number, body: { readonly responseBody: unknown }) => {
  const withToken = { ...(body.responseBody as object), accessToken: 'token', expiresIn: 3567 }
  const token = { status: 200, body: { responseBody: withToken } }
  const values = { api_key: 'key', secret: 'secret', nin_path: '/nin', bvn_path: '/bvn' }
  const replies = [token, { status, body }]
  const source = create(values, { send: async () => replies.shift() ?? token })
  const [query, call] = [
    { phone: '8031234567', details: DETAILS },
    { signal: AbortSignal.timeout(60_000), reference: 'ver_test' },
  ]
  return kind === 'nin'
    ? source.findNin?.({ ...query, nin: '12345678901' }, call)
    : source.findBvn?.({ ...query, bvn: '12345678901' }, call)
}

it('converts the documented NIN to the shape of the contract', () => {
  expect(toNinRecord(nin)).toEqual(ninRecord)
})

it('makes the record of a BVN of the details that matched', async () => {
  const answer = await ask('bvn', 200, bvn)
  expect(answer).toMatchObject({ found: true, record: bvnRecord })
})

it('fetches a token with both keys, and sends the details in the form of the documents', async () => {
  const body = { ...bvn, responseBody: { ...bvn.responseBody, accessToken: 'token', expiresIn: 3567 } }
  const { requests } = await askWithToken('bvn', { status: 200, body }, { details: DETAILS })
  const basic = Buffer.from('test-api_key:test-secret').toString('base64')
  expect(requests).toMatchObject([
    { method: 'POST', path: '/api/v1/auth/login', headers: { authorization: `Basic ${basic}` } },
    {
      method: 'POST',
      path: '/api/v1/vas/bvn-details-match',
      headers: { authorization: 'Bearer token' },
      body: {
        bvn: '12345678901',
        name: 'Ngozi Ada Effiong',
        dateOfBirth: '28-Jun-1985',
        mobileNo: '08031234567',
      },
    },
  ])
})

const withMatch = (mobileNo: unknown, name: unknown, dateOfBirth: unknown) => ({
  ...bvn,
  responseBody: {
    bvn: '12345678901',
    name: { matchStatus: name, matchPercentage: 66 },
    dateOfBirth,
    mobileNo,
  },
})

it.each([
  ['NO_MATCH', 'FULL_MATCH', 'FULL_MATCH'],
  ['NO_MATCH', 'NO_MATCH', 'NO_MATCH'],
])('another phone (%s, %s, %s) is "not verified"', async (...matches) => {
  expect(await ask('bvn', 200, withMatch(...matches))).toEqual({ found: false })
})

it.each([
  ['FULL_MATCH', 'PARTIAL_MATCH', 'FULL_MATCH'],
  ['FULL_MATCH', 'NO_MATCH', 'FULL_MATCH'],
  ['FULL_MATCH', 'NO_MATCH', 'NO_MATCH'],
  ['FULL_MATCH', 'FULL_MATCH', 'NO_MATCH'],
])('details that differ (%s, %s, %s) give no record', async (...matches) => {
  expect(await ask('bvn', 200, withMatch(...matches))).toEqual({ found: false, namesDiffer: true })
})

it.each([
  ['PARTIAL_MATCH', 'FULL_MATCH', 'FULL_MATCH'],
  [null, 'FULL_MATCH', 'FULL_MATCH'],
  ['FULL_MATCH', undefined, 'FULL_MATCH'],
  ['FULL_MATCH', 'FULL_MATCH', null],
  ['full_match', 'FULL_MATCH', 'FULL_MATCH'],
])('any other comparison (%j, %j, %j) is a failure', async (phone, name, day) => {
  await expect(ask('bvn', 200, withMatch(phone, name, day))).rejects.toMatchObject({ reason: 'bad_response' })
})

const failure = (responseMessage: string) => ({
  requestSuccessful: false,
  responseMessage,
  responseCode: '99',
  responseBody: null,
})

it.each([
  ['nin', 'NIN not found'],
  ['bvn', 'Unable to process request. Invalid BVN provided'],
] as const)('reads the text of an unknown %s, which has the code of every error', async (kind, text) => {
  expect(await ask(kind, 400, failure(text))).toEqual({ found: false })
})

it.each([
  [400, failure('Insufficient balance'), 'funds'],
  [400, failure('Unable to process request'), 'unlisted'],
  [400, failure('Merchant not found'), 'unknown_account'],
  [200, failure('Service is not available at the moment'), 'vendor_down'],
  [200, failure('NIN not found'), 'unknown_shape'],
  [200, { ...nin, requestSuccessful: false }, 'unknown_shape'],
  [200, { ...nin, responseCode: '99' }, 'unknown_shape'],
])('fails after %i %j: %s', async (status, body, problem) => {
  await expect(ask('nin', status, body)).rejects.toMatchObject({ problem })
})

describe('a caller', () => {
  const BVN = '22345678901'
  const open: { close: () => Promise<unknown> }[] = []
  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close()
  })

  it('gets a BVN verified with all details, and never by a part of them', async () => {
    const vendor = await openStandIn(monnify)
    const server = await openTestApp({ ...vendor.settings, TABBAT_BVN_SOURCES: 'monnify' })
    open.push(vendor, server)
    const headers = bearer(await server.createKey({ mode: 'live' }))
    const { personal_info: info } = toBvnPerson(BVN)
    const all = {
      first_name: `${info.first_name} ${info.middle_name}`,
      last_name: info.last_name,
      date_of_birth: info.date_of_birth,
    }
    const phone = `0${toPhoneCoreOf(BVN)}`
    const verify = (details: object, given = phone) =>
      server.app.inject({
        method: 'POST',
        url: '/api/v2/kyc/verify-bvn',
        headers,
        payload: { bvn: BVN, phone: given, amount: '1', ...details },
      })
    const found = await verify(all)
    expect([found.statusCode, found.headers['tabbat-match']]).toEqual([
      200,
      'first_name=exact, last_name=exact, date_of_birth=exact',
    ])
    expect(found.json().data).toMatchObject({ bvn_number: BVN, personal_info: { phone_number: phone } })
    expect((await verify(all, '08021112223')).json().code).toBe('not_verified')
    expect((await verify({ ...all, first_name: info.first_name })).json().code).toBe('source_bad_response')
    expect((await verify({ ...all, date_of_birth: '1999-01-01' })).json().code).toBe('source_bad_response')
    expect((await verify({})).json().code).toBe('validation_failed')
  })
})

describe('a file of a vendor that only compares', () => {
  const { operations, rules } = file

  it('must be sent every detail that is taken from the request', () => {
    const body = { bvn: '{number}', name: '{first_name}', dateOfBirth: '{date_of_birth}' }
    const bvn = { ...operations.bvn, request: { ...operations.bvn?.request, body } }
    expect(checkVendorFile({ ...file, operations: { ...operations, bvn } }).problems).toEqual([
      'answers.bvn.phones[0] is the phone of the request, which operations.bvn never sends to the vendor.',
      'answers.bvn.fields.personal_info.last_name is the last_name of the request, which operations.bvn never sends to the vendor.',
    ])
  })

  it('must say that they match before a record is made of them', () => {
    const [found] = rules.bvn?.filter((rule) => rule.then === 'found') ?? []
    const bvn = [{ ...found, if: { status: [200] } }, ...(rules.bvn ?? [])]
    expect(checkVendorFile({ ...file, rules: { ...rules, bvn } }).problems).toEqual([
      'rules.bvn[0]: found must follow from a value that says that the details match, because answers.bvn takes them from the request.',
    ])
  })
})
