import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InternetBundlesResponse, SmeBundlesResponse, TvAddOnsResponse } from '../../src/contract/bundles.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'

const ajv = new Ajv({ strict: false })
let server: TestApp

beforeAll(async () => {
  server = await openTestApp()
})
afterAll(() => server.close())

const get = (url: string, headers: Record<string, string> = {}) =>
  server.app.inject({ method: 'GET', url, headers: { ...bearer(), ...headers } })

const ADD_ONS = '/api/v2/cable-tv/fetch-tv-add-ons'
const addOns = (payload: unknown, headers: Record<string, string> = {}, method = 'GET') =>
  server.app.inject({
    method: method as 'GET',
    url: ADD_ONS,
    headers: { ...bearer(), ...headers },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  })

describe('internet bundles', () => {
  it.each(['smile', 'SMILE', 'Spectranet'])(
    'of %s have exactly the fields of the contract',
    async (provider) => {
      const answer = await get(`/api/v2/internet/data/${provider}/lookup`)
      expect(answer.statusCode).toBe(200)
      const body = answer.json()
      expect(ajv.validate(InternetBundlesResponse, body)).toBe(true)
      expect(body.data).toMatchObject({ status: 'success', message: 'Successful', code: 200 })
      expect(new Set(body.data.data.map(({ type }: { type: string }) => type))).toEqual(
        new Set([provider.toUpperCase()]),
      )
      for (const { amount, price } of body.data.data) expect(amount).toBe(price)
    },
  )

  it('keep the spaces that descriptions came with', async () => {
    const { data } = (await get('/api/v2/internet/data/smile/lookup')).json().data
    expect(data.some(({ description }: { description: string }) => description.startsWith(' '))).toBe(true)
  })

  it('of an unknown provider are 404', async () => {
    const answer = await get('/api/v2/internet/data/unknown/lookup')
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'provider_not_found'])
    expect((await get('/api/v2/internet/data/__proto__/lookup')).json().code).toBe('provider_not_found')
  })
})

describe('SME bundles', () => {
  it('are the 22 sizes of the contract, in ascending order', async () => {
    const body = (await get('/api/v2/sme-data/list')).json()
    expect(ajv.validate(SmeBundlesResponse, body)).toBe(true)
    const sizes =
      '50MB 150MB 250MB 500MB 1GB 2GB 3GB 5GB 10GB 12GB 15GB 20GB 25GB 30GB 40GB 50GB 60GB 70GB 75GB 80GB 90GB 100GB'
    expect(body.data).toEqual(
      sizes
        .split(' ')
        .map((size) => ({ description: `SME DATA ${size}`, code: `sme_data_${size.toLowerCase()}` })),
    )
  })
})

describe('TV add-ons', () => {
  const expected = [
    {
      add_on_product_code: 'HDPVRE36',
      product_code: 'NLTESE36',
      name: 'HDPVR/XtraView',
      price: '6000',
      type: 'DSTV',
    },
  ]

  it.each([
    ['GET with a body', 'GET', { 'content-type': 'application/json' }],
    ['GET with a body and no content type', 'GET', {}],
    ['QUERY', 'QUERY', { 'content-type': 'application/json' }],
  ])('by %s', async (_way, method, headers) => {
    const answer = await addOns({ type: 'dstv', productCode: 'nltese36' }, headers, method)
    expect(answer.statusCode).toBe(200)
    expect(ajv.validate(TvAddOnsResponse, answer.json())).toBe(true)
    expect(answer.json()).toMatchObject({ success: true, status: 'success', data: expected })
    expect(answer.json().message).toContain('NLTESE36')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers.etag).toBeUndefined()
  })

  it('by query string, cacheable', async () => {
    const answer = await get(`${ADD_ONS}?type=DSTV&productCode=NLTESE36`, {
      'content-type': 'application/json',
    })
    expect(answer.json().data).toEqual(expected)
    expect(answer.headers['cache-control']).toBe('private')
    expect(answer.headers.etag).toBeTruthy()
  })

  it('by both, when they agree', async () => {
    const url = `${ADD_ONS}?type=DSTV&productCode=NLTESE36`
    const ask = (payload: object) => server.app.inject({ method: 'GET', url, headers: bearer(), payload })
    expect((await ask({ type: 'dstv', productCode: 'nltese36' })).statusCode).toBe(200)
    const differs = await ask({ type: 'DSTV', productCode: 'COMPE36' })
    expect([differs.statusCode, differs.json().code]).toEqual([400, 'conflicting_input'])
    expect((await ask({ type: 'DSTV' })).json().code).toBe('conflicting_input')
  })

  it.each([
    ['GOTV', 'gotvmax', 'GOTVMAX'],
    ['STARTIMES', 'NOVA', 'nova'],
    ['showmax', 'full', 'full'],
    ['STARTIMES', 'anything-else', 'anything-else'],
  ])('of %s %s are an empty list', async (type, productCode, named) => {
    const answer = await addOns({ type, productCode })
    expect([answer.statusCode, answer.json().data]).toEqual([200, []])
    expect(answer.json().message).toContain(named)
  })

  it('of an unknown product are 404', async () => {
    const answer = await addOns({ type: 'DSTV', productCode: 'NOSUCH36' })
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'product_not_found'])
  })

  it('need both inputs', async () => {
    for (const answer of [
      await get(ADD_ONS),
      await get(`${ADD_ONS}?other=1`),
      await addOns({}),
      await addOns('[]'),
    ]) {
      expect(answer.statusCode).toBe(422)
      expect(answer.json().errors).toEqual({
        type: ['type is required'],
        productCode: ['productCode is required'],
      })
    }
  })

  it.each(['a', '-abc', 'a b', 'é36', 'x'.repeat(41), '../etc'])(
    'refuse the product code %s',
    async (productCode) => {
      const answer = await addOns({ type: 'HULU', productCode })
      expect(answer.json().errors).toEqual({
        type: ['type must be one of DSTV, GOTV, STARTIMES, SHOWMAX'],
        productCode: ['productCode must be 2 to 40 letters, digits, hyphens or underscores'],
      })
    },
  )

  it('refuse an input that is given twice', async () => {
    const answer = await get(`${ADD_ONS}?type=DSTV&type=GOTV&productCode=COMPE36`)
    expect(answer.json().errors).toEqual({ type: ['type must be a string'] })
  })

  it('answer 400, 413 and 415 like every body', async () => {
    expect((await addOns('{')).json().code).toBe('malformed_json')
    expect((await addOns('x'.repeat(17_000))).json().code).toBe('body_too_large')
    expect((await addOns('{}', { 'content-type': 'text/plain' })).json().code).toBe('unsupported_media_type')
  })
})

describe.each([
  '/api/v2/internet/data/smile/lookup',
  '/api/v2/sme-data/list',
  `${ADD_ONS}?type=DSTV&productCode=COMPE36`,
])('GET %s', (url) => {
  it('works with a JSON content type and no body', async () => {
    expect((await get(url, { 'content-type': 'application/json' })).statusCode).toBe(200)
    expect((await get(url, { 'content-type': 'application/json', 'content-length': '0' })).statusCode).toBe(
      200,
    )
  })

  it('answers 304 to its own ETag and 200 to another', async () => {
    const { etag } = (await get(url)).headers
    const again = await get(url, { 'if-none-match': `"x", W/${etag}` })
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag])
    expect((await get(url, { 'if-none-match': '"x"' })).statusCode).toBe(200)
  })

  it('answers HEAD without a body', async () => {
    const answer = await server.app.inject({ method: 'HEAD', url, headers: bearer() })
    expect([answer.statusCode, answer.body]).toEqual([200, ''])
    expect(answer.headers.etag).toBeTruthy()
  })

  it('answers live keys from the catalogue too', async () => {
    const live = await server.createKey({ mode: 'live' })
    expect((await get(url, bearer(live))).body).toBe((await get(url)).body)
  })
})
