import { describe, expect, it } from 'vitest'
import type { HttpReply } from '../source.ts'
import { create } from './index.ts'

const values = {
  url: 'https://dojah.example.com',
  price: 0,
  dailyCap: undefined,
  appId: 'app',
  secret: 'secret',
  vninPath: '/api/v1/kyc/vnin',
  ninPath: '/nin',
  bvnPath: '/bvn',
  notFound: undefined,
}
const call = { signal: AbortSignal.timeout(5000), reference: 'ver_test' }

describe.each(['nin', 'bvn'] as const)('an error for a %s', (kind) => {
  const find = (body: unknown, status = 404, notFound?: readonly string[]) => {
    const source = create(
      { ...values, notFound },
      { send: async (): Promise<HttpReply> => ({ status, body }) },
    )
    return kind === 'nin'
      ? source.findNin?.({ nin: '12345678901', phone: '8031234567' }, call)
      : source.findBvn?.({ bvn: '12345678901', phone: '8031234567' }, call)
  }

  it.each([
    [404, 'BVN not found'],
    [404, 'Record not found.'],
    [400, 'Wrong NIN Inputted'],
  ])('with %i and %j means that there is no such person', async (status, error) => {
    expect(await find({ error }, status)).toEqual({ found: false })
  })

  it('means that too with a text from the settings', async () => {
    const error = 'Nothing known about this one'
    await expect(find({ error })).rejects.toMatchObject({ problem: 'unlisted', fault: 'request' })
    expect(await find({ error }, 404, ['nothing known about this one'])).toEqual({ found: false })
  })

  it.each([
    ['App not found', 'refused', 'unknown_account'],
    ['Invalid API key', 'refused', 'credentials'],
    ['Unable to reach service at this time', 'unreachable', 'vendor_down'],
    ['Your balance is low, pls visit the dashboard to top up', 'refused', 'funds'],
  ])('with the text %j is a failure of the source: %s, %s', async (error, reason, problem) => {
    for (const status of [400, 404])
      await expect(find({ error }, status)).rejects.toMatchObject({ reason, problem, fault: 'source' })
  })

  it('about a path may be one about a person: then it does not count against the source', async () => {
    const path = { reason: 'bad_response', problem: 'unknown_path', fault: 'request' }
    await expect(find({ error: 'Endpoint not found' }, 404)).rejects.toMatchObject(path)
  })

  it('about the format of the request does not count against the source', async () => {
    await expect(find({ error: 'nin must be 11 digits' }, 400)).rejects.toMatchObject({
      problem: 'rejected',
      fault: 'request',
    })
  })

  it.each([
    { statusCode: 404, message: 'Cannot GET /nin', error: 'Not Found' },
    { status: 404, error: 'Not Found', path: '/nin' },
    { statusCode: 404, error: 'Some text' },
    { error: 'Not Found' },
    { error: 'Cannot GET /nin' },
    { error: { text: 'x' } },
    {},
    null,
    undefined,
  ])('of a web framework is a bad response: %j', async (body) => {
    await expect(find(body)).rejects.toMatchObject({ name: 'SourceError', reason: 'bad_response' })
  })
})
