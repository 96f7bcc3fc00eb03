import { expect, it } from 'vitest'
import { useShippedFile } from '../shipped-file.ts'
import bvnRecord from './bvn.expected.json' with { type: 'json' }
import bvn from './bvn.json' with { type: 'json' }
import ninRecord from './nin.expected.json' with { type: 'json' }
import nin from './nin.json' with { type: 'json' }
import virtualNinRecord from './virtual-nin.expected.json' with { type: 'json' }
import virtualNin from './virtual-nin.json' with { type: 'json' }

const { ask, toNinRecord, toBvnRecord } = useShippedFile('korapay')

it('converts the documented answers to the shape of the contract', () => {
  expect(toNinRecord(nin)).toEqual(ninRecord)
  expect(toNinRecord(virtualNin, 'AB012345678910YZ')).toEqual(virtualNinRecord)
  expect(toBvnRecord(bvn)).toEqual(bvnRecord)
})

it.each([
  ['nin', '12345678901', '/identities/ng/nin'],
  ['nin', 'AB012345678910YZ', '/identities/ng/vnin'],
  ['bvn', '12345678901', '/identities/ng/bvn'],
] as const)('asks for a %s %s with the consent, at %s', async (kind, number, path) => {
  const { requests } = await ask(kind, { status: 200, body: bvn }, { number })
  expect(requests).toEqual([
    {
      method: 'POST',
      path,
      headers: { Authorization: 'Bearer test-secret' },
      body: { id: number, verification_consent: true },
    },
  ])
})

it('returns the reference of the vendor', async () => {
  expect((await ask('bvn', { status: 200, body: bvn })).answer).toMatchObject({ reference: 'VR-fixture3' })
})

const failure = (message: string) => ({ status: false, message, data: null })

it.each([200, 400, 404])('reads a listed text with %i as "no such person"', async (status) => {
  const { answer } = await ask('nin', { status, body: failure('NIN not found') })
  expect(answer).toEqual({ found: false })
})

it.each([
  [404, { ...failure('NIN not found'), status: true }, 'unlisted'],
  [200, failure('Insufficient balance'), 'funds'],
  [400, failure('Insufficient balance'), 'funds'],
  [200, failure('Service is not available at the moment'), 'vendor_down'],
  [200, failure('Something else'), 'unknown_shape'],
  [200, { ...nin, status: false }, 'unknown_shape'],
  [200, { ...nin, status: 'true' }, 'unknown_shape'],
])('fails after %i %j: %s', async (status, body, problem) => {
  await expect(ask('nin', { status, body })).rejects.toMatchObject({ problem })
})
