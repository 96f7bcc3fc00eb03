import { expect, it } from 'vitest'
import { useShippedFile } from '../shipped-file.ts'
import ninRecord from './nin.expected.json' with { type: 'json' }
import nin from './nin.json' with { type: 'json' }

const { ask, file, toNinRecord } = useShippedFile('mono')

it('converts the documented answer to the shape of the contract', () => {
  expect(toNinRecord(nin)).toEqual(ninRecord)
})

it('asks for a NIN only: a BVN takes a one-time password of the person', async () => {
  const { requests } = await ask('nin', { status: 200, body: nin })
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/v3/lookup/nin',
      headers: { 'mono-sec-key': 'test-secret' },
      body: { nin: '12345678901' },
    },
  ])
  expect(Object.keys(file.operations)).toEqual(['nin'])
})

it('reads a 404 with a listed text as "no such person"', async () => {
  const body = { code: 'NOT_FOUND', message: 'NIN not found' }
  expect((await ask('nin', { status: 404, body })).answer).toEqual({ found: false })
})

it.each([
  [400, { message: 'NIN not found' }, 'unlisted'],
  [404, { message: 'Not Found' }, 'unknown_path'],
  [200, { status: 'failed', message: 'Service unavailable' }, 'vendor_down'],
  [200, { ...nin, status: 'failed' }, 'unknown_shape'],
  [200, { ...nin, status: undefined }, 'unknown_shape'],
])('fails after %i %j: %s', async (status, body, problem) => {
  await expect(ask('nin', { status, body })).rejects.toMatchObject({ problem })
})
