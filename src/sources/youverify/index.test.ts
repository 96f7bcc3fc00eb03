import { expect, it } from 'vitest'
import type { HttpReply, HttpRequest } from '../source.ts'
import bvn from './fixtures/bvn.json' with { type: 'json' }
import nin from './fixtures/nin.json' with { type: 'json' }
import { create } from './index.ts'

const call = { signal: AbortSignal.timeout(5000), reference: 'ver_test' }

const open = (reply: HttpReply, premium: 'on' | 'off' = 'off', requests: HttpRequest[] = []) =>
  create(
    {
      url: 'https://youverify.example.com',
      price: 0,
      dailyCap: undefined,
      token: 'token',
      vninPath: '/v2/api/identity/ng/vnin',
      ninPath: '/nin',
      bvnPath: '/bvn',
      premium,
      notFound: undefined,
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
