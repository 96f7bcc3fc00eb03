import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { loadConfig } from '../../../src/context/config.ts'
import { toNinPerson, toPhoneCoreOf } from '../../../src/simulator/people.ts'
import { smileid } from '../../../src/simulator/smileid.ts'
import { openStandIn } from '../../../src/simulator/stand-in.ts'
import { isPaid } from '../../../src/sources/guard/call-guard.ts'
import { openVendor } from '../../../src/sources/open-vendor.ts'
import { bearer, openTestApp } from '../../app.ts'
import { useShippedFile } from '../shipped-file.ts'
import bvnRecord from './bvn.expected.json' with { type: 'json' }
import bvn from './bvn.json' with { type: 'json' }
import ninRecord from './nin.expected.json' with { type: 'json' }
import nin from './nin.json' with { type: 'json' }
import virtualNinRecord from './virtual-nin.expected.json' with { type: 'json' }
import virtualNin from './virtual-nin.json' with { type: 'json' }

const { ask, create, toNinRecord, toBvnRecord } = useShippedFile('smileid')
const VALUES = { partner_id: '023', api_key: 'key', path: '/v1/id_verification' }

it('converts the documented answers to the shape of the contract', () => {
  expect(toNinRecord(nin)).toEqual(ninRecord)
  expect(toNinRecord(virtualNin, 'AB012345678910YZ')).toEqual(virtualNinRecord)
  expect(toBvnRecord(bvn)).toEqual(bvnRecord)
})

it('reads the second phone of a BVN', () => {
  const { personal_info } = toBvnRecord({ ...bvn, PhoneNumber2: '08051234567' })
  expect(personal_info).toMatchObject({ phone_number: '08031234567', phone_number_2: '08051234567' })
})

it.each([
  ['nin', '12345678901', 'NIN_V2'],
  ['nin', 'AB012345678910YZ', 'V_NIN'],
  ['bvn', '12345678901', 'BVN'],
] as const)('signs the request for a %s %s', async (kind, id_number, id_type) => {
  const { requests } = await ask(kind, { status: 200, body: nin }, { number: id_number })
  const timestamp = '2026-11-17T06:00:00.000Z'
  const signature = createHmac('sha256', 'test-api_key')
    .update(`${timestamp}test-partner_idsid_request`)
    .digest('base64')
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/v1/id_verification',
      headers: {},
      body: {
        partner_id: 'test-partner_id',
        timestamp,
        signature,
        country: 'NG',
        id_type,
        id_number,
        partner_params: { job_id: expect.stringMatching(/^[0-9a-f]{32}$/), user_id: 'ver_test', job_type: 5 },
        source_sdk: 'rest_api',
        source_sdk_version: '1.0.0',
      },
    },
  ])
})

const NONE = { Verify_ID_Number: 'Not Verified', Return_Personal_Info: 'Not Returned' }
const result = (ResultCode: string, ResultText: string, more: object = {}) => ({
  SmileJobID: '0000001096',
  ResultCode,
  ResultText,
  Actions: NONE,
  IDNumber: '12345678901',
  ...more,
})

const JOB_EXISTS = { code: '2215', error: 'Error - Job already exists for job_id' }

it('neither pays for a repeated job nor reads it as "no such person", whatever the operator lists', async () => {
  const values = { ...VALUES, not_found: [JOB_EXISTS.error] }
  const source = create(values, { send: async () => ({ status: 400, body: JOB_EXISTS }) })
  const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }
  const failure = await source.findNin?.({ nin: '12345678901', phone: '8031234567' }, call).catch((e) => e)
  expect(failure).toMatchObject({ reason: 'refused', problem: 'repeated_call' })
  expect(isPaid(failure)).toBe(false)
})

it('is asked again for a verification that it could not answer before', async () => {
  const vendor = await openStandIn(smileid)
  const { vendors } = loadConfig(vendor.settings, '')
  const source = await openVendor('smileid', { vendors, allowPrivate: false })
  const query = { nin: '12345678901', phone: toPhoneCoreOf('12345678901') }
  const find = () => source.findNin?.(query, { signal: AbortSignal.timeout(60_000), reference: 'ver_same' })
  vendor.fail('error_in_200')
  await expect(find()).rejects.toMatchObject({ problem: 'vendor_down' })
  vendor.fail(undefined)
  expect(await find()).toMatchObject({ found: true })
  await source.close?.()
  await vendor.close()
})

it('reads 1013 as "no such person", with the reference', async () => {
  const body = result('1013', 'Unable to Validate ID')
  expect((await ask('nin', { status: 200, body })).answer).toEqual({ found: false, reference: '0000001096' })
})

it.each([
  [200, result('1013', 'Unable to Validate ID', { Actions: undefined }), 'unknown_shape'],
  [
    200,
    result('1013', 'Unable to Validate ID', { Actions: { Verify_ID_Number: 'Verified' } }),
    'unknown_shape',
  ],
  [200, result('1013', 'Unable to Validate ID', { FullName: 'NGOZI ADA EFFIONG' }), 'contradictory'],
  [200, result('1013', 'ID authority is unavailable'), 'vendor_down'],
  [200, result('1012', 'ID Number Validated'), 'contradictory'],
  [200, result('1014', 'Unsupported ID number format'), 'rejected'],
  [200, result('1015', 'Error - Queried Database Unavailable'), 'vendor_down'],
  [200, result('1016', 'Need to Activate Product'), 'credentials'],
  [200, result('1023', 'Something else'), 'unknown_shape'],
  [400, { code: '2204', error: 'unauthorized' }, 'credentials'],
  [400, { code: '2204', error: 'A parameter is of the wrong data type' }, 'unlisted'],
  [400, { code: '2213', error: 'A required parameter is missing' }, 'rejected'],
  [402, { code: '2299', error: 'Insufficient wallet balance' }, 'funds'],
  [400, JOB_EXISTS, 'repeated_call'],
])('fails after %i %j: %s', async (status, body, problem) => {
  await expect(ask('nin', { status, body })).rejects.toMatchObject({ problem })
})

it('compares no names with a full name: which of them is the first is not known', async () => {
  const vendor = await openStandIn(smileid)
  const server = await openTestApp({ ...vendor.settings, TABBAT_NIN_SOURCES: 'smileid' })
  const NIN = '12345678901'
  const { first_name, last_name, date_of_birth } = toNinPerson(NIN).personal_info
  const verify = async (options: object) =>
    server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: bearer(await server.createKey({ mode: 'live', ...options })),
      payload: { nin: NIN, phone: `0${toPhoneCoreOf(NIN)}`, first_name, last_name, date_of_birth },
    })
  const found = await verify({})
  expect([found.statusCode, found.headers['tabbat-match']]).toEqual([200, 'date_of_birth=exact'])
  expect((await verify({ requireMatch: 'dob' })).statusCode).toBe(200)
  expect((await verify({ requireMatch: 'name' })).json().code).toBe('source_bad_response')
  await server.close()
  await vendor.close()
})
