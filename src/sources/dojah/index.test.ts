import { describe, expect, it } from 'vitest'
import type { Reply } from '../http.ts'
import { create } from './index.ts'

const values = {
  url: 'https://dojah.example.com',
  price: 0,
  dailyCap: undefined,
  appId: 'app',
  secret: 'secret',
  ninPath: '/nin',
  bvnPath: '/bvn',
}
const call = { signal: AbortSignal.timeout(5000), reference: 'ver_test' }

describe.each(['nin', 'bvn'] as const)('a 404 for a %s', (kind) => {
  const find = (body: unknown) => {
    const source = create(values, { send: async (): Promise<Reply> => ({ status: 404, body }) })
    return kind === 'nin'
      ? source.findNin?.({ nin: '12345678901', phone: '8031234567' }, call)
      : source.findBvn?.({ bvn: '12345678901', phone: '8031234567' }, call)
  }

  it('with the vendor’s text means that nobody has the number', async () => {
    expect(await find({ error: 'BVN not found' })).toEqual({ found: false })
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
  ])('of a framework says nothing about a person: %j', async (body) => {
    await expect(find(body)).rejects.toMatchObject({ name: 'SourceError', reason: 'bad_response' })
  })
})
