import { expect, it } from 'vitest'
import type { HttpReply, HttpRequest } from '../source.ts'
import bvn from './fixtures/bvn.json' with { type: 'json' }
import nin from './fixtures/nin.json' with { type: 'json' }
import { create } from './index.ts'

const call = { signal: AbortSignal.timeout(5000), reference: 'ver_test' }

const open = (reply: HttpReply, premium: 'on' | 'off' = 'off', asked: HttpRequest[] = []) =>
  create(
    {
      url: 'https://youverify.example.com',
      price: 0,
      dailyCap: undefined,
      token: 'token',
      ninPath: '/nin',
      bvnPath: '/bvn',
      premium,
    },
    {
      send: async (question: HttpRequest) => {
        asked.push(question)
        return reply
      },
    },
  )
const find = async (reply: HttpReply) =>
  open(reply).findNin?.({ nin: '12345678901', phone: '8031234567' }, call)
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
] as const)('asks with premium %s', async (premium, bodies) => {
  const asked: HttpRequest[] = []
  await open({ status: 200, body: nin }, premium, asked).findNin?.({ nin: '12345678901', phone: '1' }, call)
  await open({ status: 200, body: bvn }, premium, asked).findBvn?.({ bvn: '02234567890', phone: '1' }, call)
  expect(asked.map(({ path }) => path)).toEqual(['/nin', '/bvn'])
  expect(asked.map(({ headers }) => headers)).toEqual([{ token: 'token' }, { token: 'token' }])
  expect(asked.map(({ body }) => body)).toEqual(bodies)
})

it('answers found and not found by the status in the data, with the vendor’s reference', async () => {
  expect(await find(withStatus('found'))).toMatchObject({ found: true, reference: 'yv-fixture-nin' })
  expect(await find(withStatus('not_found'))).toEqual({ found: false, reference: 'yv-fixture-nin' })
})

it('does not take "not found" for an answer when the reason is that it cannot be asked now', async () => {
  const data = { ...nin.data, status: 'not_found', reason: 'NIMC is temporarily unavailable' }
  await expect(find({ status: 200, body: { ...nin, data } })).rejects.toMatchObject({
    trouble: 'vendor_down',
  })
})

it.each(['pending', 'FOUND', true, null, undefined])('has no answer for the status %s', async (status) => {
  await expect(find(withStatus(status))).rejects.toMatchObject({ reason: 'bad_response' })
})

it.each([
  [402, 'refused'],
  [503, 'unreachable'],
  [undefined, 'bad_response'],
])('does not take the code %s for an answer because it came with 200: %s', async (statusCode, reason) => {
  const body = { ...nin, statusCode }
  await expect(find({ status: 200, body })).rejects.toMatchObject({ name: 'SourceError', reason })
})

it.each([false, 'false', null])(
  'does not take a record for an answer beside success: %j',
  async (success) => {
    const asked = find({ status: 200, body: { ...nin, success } })
    await expect(asked).rejects.toMatchObject({ reason: 'bad_response', trouble: 'contradictory' })
  },
)

it('does not take a path that is not there for a person who is not there', async () => {
  await expect(find({ status: 404, body: undefined })).rejects.toMatchObject({ reason: 'bad_response' })
})
