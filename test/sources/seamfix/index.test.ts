import { expect, it } from 'vitest'
import { useShippedFile } from '../shipped-file.ts'
import bvnRecord from './bvn.expected.json' with { type: 'json' }
import bvn from './bvn.json' with { type: 'json' }
import ninRecord from './nin.expected.json' with { type: 'json' }
import nin from './nin.json' with { type: 'json' }
import virtualNinRecord from './virtual-nin.expected.json' with { type: 'json' }
import virtualNin from './virtual-nin.json' with { type: 'json' }

const { ask, toNinRecord, toBvnRecord } = useShippedFile('seamfix')

it('converts the documented answers to the shape of the contract', () => {
  expect(toNinRecord(nin)).toEqual(ninRecord)
  expect(toNinRecord(virtualNin, 'AB012345678910YZ')).toEqual(virtualNinRecord)
  expect(toBvnRecord(bvn)).toEqual(bvnRecord)
})

it.each([
  ['nin', '12345678901', 'NIN-VERIFY'],
  ['nin', 'AB012345678910YZ', 'V-NIN'],
  ['bvn', '12345678901', 'BVN-FULL-DETAILS'],
] as const)('asks for a %s %s as %s', async (kind, searchParameter, verificationType) => {
  const { requests } = await ask(kind, { status: 200, body: nin }, { number: searchParameter })
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/v3/id-service/',
      headers: { userid: 'test-user_id', apiKey: 'test-api_key' },
      body: { verificationType, countryCode: 'NG', searchParameter, transactionReference: 'ver_test' },
    },
  ])
})

it('has no number when the reply does not repeat it', () => {
  expect(toNinRecord({ ...nin, searchParameter: null }).nin_number).toBe('')
})

it('takes the NIN of the record before the repeated number: the record may be that of another person', () => {
  const response = { ...nin.response, nin: '12345678902' }
  expect(toNinRecord({ ...nin, response }).nin_number).toBe('12345678902')
})

it('takes the number of the record of a BVN before the repeated one', () => {
  const response = { ...bvn.response, bvn: '12345678902' }
  expect(toBvnRecord({ ...bvn, response }).bvn_number).toBe('12345678902')
})

const without = (more: object) => ({ ...nin, response: null, ...more })

it('reads NOT VERIFIED without a record as "no such person", with the reference', async () => {
  const body = without({ verificationStatus: 'NOT VERIFIED' })
  expect((await ask('nin', { status: 200, body })).answer).toEqual({
    found: false,
    reference: 'sf-fixture-1',
  })
})

it.each([
  [without({ verificationStatus: 'NOT VERIFIED', responseCode: '99' }), 'unknown_shape'],
  [without({ verificationStatus: 'NOT VERIFIED', description: 'NIMC is unavailable' }), 'vendor_down'],
  [{ ...nin, verificationStatus: 'NOT VERIFIED' }, 'unknown_shape'],
  [without({ verificationStatus: 'PENDING', responseCode: '99' }), 'vendor_down'],
  [without({ verificationStatus: 'PENDING', description: 'Insufficient wallet balance' }), 'funds'],
  [{ ...nin, verificationStatus: 'PENDING' }, 'contradictory'],
  [{ ...nin, responseCode: '99' }, 'unknown_shape'],
  [without({}), 'unknown_shape'],
])('fails after %j: %s', async (body, problem) => {
  await expect(ask('nin', { status: 200, body })).rejects.toMatchObject({ problem })
})
