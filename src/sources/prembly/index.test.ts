import { expect, it } from 'vitest'
import type { HttpReply, HttpRequest } from '../source.ts'
import bvn from './fixtures/bvn.json' with { type: 'json' }
import nin from './fixtures/nin.json' with { type: 'json' }
import { create } from './index.ts'

const values = {
  url: 'https://prembly.example.com',
  price: 0,
  dailyCap: undefined,
  apiKey: 'key',
  appId: undefined,
  vninPath: '/vnin',
  ninPath: '/nin_wo_face',
  ninField: 'number',
  bvnPath: '/bvn',
  notFound: undefined,
}
const call = { signal: AbortSignal.timeout(5000), reference: 'ver_test' }

const open = (reply: HttpReply, requests: HttpRequest[] = []) =>
  create(values, {
    send: async (request: HttpRequest) => {
      requests.push(request)
      return reply
    },
  })
const find = async (reply: HttpReply, requests?: HttpRequest[]) =>
  open(reply, requests).findNin?.({ nin: '12345678901', phone: '8031234567' }, call)

it('sends the NIN in the configured field, and no app id when the account has none', async () => {
  const requests: HttpRequest[] = []
  await find({ status: 200, body: nin }, requests)
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/nin_wo_face',
      headers: { 'x-api-key': 'key' },
      body: { number: '12345678901' },
    },
  ])
})

it.each(['data', 'nin_data'])('finds a NIN in %s', async (name) => {
  const body = { ...nin, nin_data: null, [name]: nin.nin_data }
  expect(await find({ status: 200, body })).toMatchObject({ found: true, reference: 'pb-fixture-nin' })
})

it.each(['data', 'bvn_data'])('finds a BVN in %s', async (name) => {
  const body = { ...bvn, data: null, [name]: bvn.data }
  const answer = open({ status: 200, body }).findBvn?.({ bvn: '02234567890', phone: '8031234567' }, call)
  expect(await answer).toMatchObject({ found: true, reference: 'pb-fixture-bvn' })
})

it.each([200, 400, 404])('returns not found for the code 01 with %s', async (status) => {
  expect(await find({ status, body: { status: true, response_code: '01' } })).toEqual({ found: false })
})

it.each([200, 400, 404])(
  'reads the code 07 with %s as a watch list entry, not as "no such BVN"',
  async (status) => {
    const source = open({ status, body: { status: false, response_code: '07' } })
    expect(await source.findBvn?.({ bvn: '02234567890', phone: '8031234567' }, call)).toEqual({
      found: false,
      watchlisted: true,
    })
  },
)

it.each([
  ['02', 200, '02', 'unreachable'],
  ['03', 200, '03', 'refused'],
  ['07, which is about BVNs, for a NIN', 200, '07', 'bad_response'],
  ['no code', 200, undefined, 'bad_response'],
  ['01 from a server that fails', 500, '01', 'unreachable'],
  ['01 with wrong credentials', 401, '01', 'refused'],
  ['00 with 400', 400, '00', 'bad_response'],
])('fails after %s (%i): %s', async (_what, status, response_code, reason) => {
  await expect(find({ status, body: { ...nin, response_code } })).rejects.toMatchObject({
    name: 'SourceError',
    reason,
  })
})

it.each([
  ['a verification that is pending', { ...nin, verification: { status: 'PENDING' } }],
  ['no person', { ...nin, nin_data: null }],
])('rejects the code 00 with %s', async (_what, body) => {
  await expect(find({ status: 200, body })).rejects.toMatchObject({ reason: 'bad_response' })
})

it('takes the BVN of the basic product from the part that repeats the request', async () => {
  const { bvn: _, ...data } = bvn.data
  const findBvn = (request_data: unknown) =>
    open({ status: 200, body: { ...bvn, data, request_data } }).findBvn?.(
      { bvn: '02234567890', phone: '1' },
      call,
    )
  expect(await findBvn({ number: '02234567890' })).toMatchObject({ record: { bvn_number: '02234567890' } })
  expect(await findBvn(undefined)).toMatchObject({ record: { bvn_number: '' } })
})
