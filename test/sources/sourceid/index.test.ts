import { expect, it } from 'vitest'
import { useShippedFile } from '../shipped-file.ts'
import bvnRecord from './bvn.expected.json' with { type: 'json' }
import bvn from './bvn.json' with { type: 'json' }

const { ask, settings, toBvnRecord } = useShippedFile('sourceid')

it('converts the documented answer to the shape of the contract', () => {
  expect(toBvnRecord(bvn)).toEqual(bvnRecord)
})

it('asks for the extended level, which has the number and the phone', async () => {
  const { requests } = await ask('bvn', { status: 200, body: bvn })
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/v1/api/verification/bvn',
      headers: { 'x-api-key': 'test-api_key' },
      body: { country: 'NGA', reference: 'ver_test', verificationLevel: 'extended', bvn: '12345678901' },
    },
  ])
})

it('has no address of its own: it must be set', () => {
  expect(settings.url).toMatchObject({ env: 'TABBAT_SOURCEID_URL', required: true })
})

const failure = (message: string, statusCode = '404') => ({ status: false, statusCode, message, data: null })

it.each([200, 400, 404])('reads a listed text with %i as "no such person"', async (status) => {
  const { answer } = await ask('bvn', { status, body: failure('Record not found') })
  expect(answer).toEqual({ found: false })
})

it.each([
  [404, { ...failure('Something else'), responseCode: '01' }, 'unlisted'],
  [402, failure('Insufficient wallet balance'), 'funds'],
  [200, failure('Service is not available', '503'), 'vendor_failed'],
  [200, failure('Insufficient wallet balance', '402'), 'funds'],
  [200, { ...bvn, status: false }, 'unknown_shape'],
  [200, { ...bvn, responseCode: '01' }, 'unknown_shape'],
])('fails after %i %j: %s', async (status, body, problem) => {
  await expect(ask('bvn', { status, body })).rejects.toMatchObject({ problem })
})
