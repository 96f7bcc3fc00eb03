import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NinResponse } from '../../src/contract/nin.ts'
import { createApiKey } from '../../src/keys/api-key.ts'
import { rollKey } from '../../src/keys/manage.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'

const isNinResponse = new Ajv({ strict: false }).compile(NinResponse)
const url = '/api/v2/kyc/verify-nin'
let server: TestApp

beforeAll(async () => {
  server = await openTestApp()
})
afterAll(() => server.close())

const verify = (payload: unknown, headers: Record<string, string> = bearer()) =>
  server.app.inject({ method: 'POST', url, headers, payload: payload as object })

describe('200', () => {
  it('has exactly the fields of the contract', async () => {
    const answer = await verify({ nin: '12345678901', phone: PHONE })
    expect(answer.statusCode).toBe(200)
    expect(isNinResponse(answer.json()), JSON.stringify(isNinResponse.errors)).toBe(true)
    expect(answer.json()).toMatchObject({
      success: true,
      data: { nin_number: '12345678901', verification_status: 'VERIFIED', service_type: 'NIN' },
    })
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
  })

  it('gives the same person every time, and a new reference', async () => {
    const [one, two] = [
      await verify({ nin: '10203040506', phone: PHONE }),
      await verify({ nin: '10203040506', phone: PHONE }),
    ]
    expect(one.json().data.request_reference).toMatch(/^ver_[0-9a-z]{36}$/)
    expect(one.json().data.request_reference < two.json().data.request_reference).toBe(true)
    expect({ ...one.json().data, request_reference: '' }).toEqual({
      ...two.json().data,
      request_reference: '',
    })
  })

  it('hides the next of kin and the place of origin', async () => {
    const { data } = (await verify({ nin: '12345678901', phone: PHONE })).json()
    expect(new Set(Object.values(data.next_of_kin))).toEqual(new Set(['****']))
    expect(data.indigene_info.place_of_origin).toBe('****')
  })

  it('leaves the fields of a sparse record empty, also hidden ones', async () => {
    const { data } = (await verify({ nin: '00000000001', phone: PHONE })).json()
    expect(new Set(Object.values(data.next_of_kin))).toEqual(new Set(['']))
    expect(data.personal_info).toMatchObject({
      title: '',
      middle_name: '',
      image_url: '',
      phone_number: PHONE,
    })
  })

  it.each([
    '08031234567',
    '2348031234567',
    '+2348031234567',
    '002348031234567',
    '8031234567',
    ' 0803 123 4567 ',
    '(0803) 123-4567',
    '+234 803.123.4567',
    '(+234) 8031234567',
    '00 234-803-123-4567',
  ])('takes the phone as %s and answers it in one spelling', async (phone) => {
    const answer = await verify({ nin: '12345678901', phone })
    expect(answer.statusCode).toBe(200)
    expect(answer.json().data.personal_info.phone_number).toBe('08031234567')
  })

  it('trims white space and ignores unknown fields', async () => {
    const answer = await verify({
      nin: ' 12345678901\n',
      phone: PHONE,
      firstname: 'x',
      __proto__: { nin: '' },
    })
    expect(answer.statusCode).toBe(200)
  })

  it('takes a bare key', async () => {
    const { authorization } = bearer()
    const answer = await verify(
      { nin: '12345678901', phone: PHONE },
      { authorization: authorization.slice(7) },
    )
    expect(answer.statusCode).toBe(200)
  })

  it('links to a portrait that this server draws', async () => {
    const { image_url } = (await verify({ nin: '12345678901', phone: PHONE })).json().data.personal_info
    const picture = await server.app.inject({ method: 'GET', url: new URL(image_url).pathname })
    expect(picture.headers['content-type']).toMatch(/^image\/svg\+xml/)
    expect(picture.body).toContain('<svg')
    expect((await server.app.inject({ method: 'GET', url: '/media/sandbox/unknown.svg' })).statusCode).toBe(
      404,
    )
  })
})

describe('400', () => {
  it.each(['{', '{"nin":"1"', 'nin=1', '"', '\u0000', '{"nin":"12345678901",}'])(
    'for a body that is not JSON: %j',
    async (body) => {
      const answer = await server.app.inject({
        method: 'POST',
        url,
        headers: { ...bearer(), 'content-type': 'application/json' },
        payload: body,
      })
      expect(answer.statusCode).toBe(400)
      expect(answer.json()).toMatchObject({ success: false, code: 'malformed_json', retryable: false })
    },
  )

  it('for a body that is not UTF-8', async () => {
    const answer = await server.app.inject({
      method: 'POST',
      url,
      headers: bearer(),
      payload: Buffer.from([0x22, 0xff, 0x22]),
    })
    expect(answer.json().code).toBe('malformed_json')
  })
})

describe('401', () => {
  const rejected = [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Bearer nonsense',
    'Basic dXNlcjpwYXNz',
    'tbt_test_sandbox0EveryNumberWorksInTheTestSandbox1yrrmX',
    'Bearer tbt_live_sandbox0EveryNumberWorksInTheTestSandbox1yrrmt',
  ]

  it.each(rejected)('for the credential %j, exactly as the contract says', async (authorization) => {
    const answer = await verify({ nin: 1 }, authorization === undefined ? {} : { authorization })
    expect(answer.statusCode).toBe(401)
    expect(answer.body).toBe('{"message":"Unauthenticated."}')
    expect(answer.headers['www-authenticate']).toBe('Bearer')
    expect(answer.headers['x-request-id']).toBeTruthy()
  })

  it('for a key that is unknown, revoked, expired or of the other mode', async () => {
    const known = await server.createKey()
    const id = known.slice(9, 17)
    const revoked = await server.createKey()
    await server.context.store.keys.revoke(revoked.slice(9, 17), Date.now())
    const expired = await server.createKey({ expiresAt: Date.now() - 1 })
    const moved = await server.createKey()
    const move = "UPDATE api_keys SET mode = 'live' WHERE id = $1"
    await server.context.store.database.prepare(move).run(moved.slice(9, 17))
    expect((await verify({ nin: '12345678901', phone: PHONE }, bearer(known))).statusCode).toBe(200)
    const rejected = {
      ...{ revoked, expired, moved },
      'with an unknown id': createApiKey('test').text,
      'with another secret': createApiKey('test', id).text,
      'of the other mode': createApiKey('live', id).text,
    }
    for (const [what, key] of Object.entries(rejected)) {
      const answer = await verify({ nin: '12345678901', phone: PHONE }, bearer(key))
      expect([answer.statusCode, answer.body], what).toEqual([401, '{"message":"Unauthenticated."}'])
    }
  })

  it('before the body is validated', async () => {
    const answer = await server.app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'text/;;plain' },
      payload: '{',
    })
    expect(answer.statusCode).toBe(401)
  })
})

describe('403', () => {
  it('for a key without the scope', async () => {
    const key = await server.createKey({ scopes: ['kyc:bvn', 'catalogue:read'] })
    const answer = await verify({ nin: '12345678901', phone: PHONE }, bearer(key))
    expect([answer.statusCode, answer.json().code]).toEqual([403, 'forbidden'])
  })

  it('for an address that the key does not allow', async () => {
    const [here, elsewhere] = [
      await server.createKey({ allowedIps: ['10.0.0.1', '127.0.0.0/8'] }),
      await server.createKey({ allowedIps: ['10.0.0.1', '2001:db8::/32'] }),
    ]
    expect((await verify({ nin: '12345678901', phone: PHONE }, bearer(here))).statusCode).toBe(200)
    // Without a trusted proxy, a caller cannot say where it is.
    for (const claimed of [{}, { 'x-forwarded-for': '10.0.0.1' }, { forwarded: 'for=10.0.0.1' }]) {
      const answer = await verify(
        { nin: '12345678901', phone: PHONE },
        { ...bearer(elsewhere), ...(claimed as Record<string, string>) },
      )
      expect(answer.json().code, JSON.stringify(claimed)).toBe('forbidden')
    }
  })
})

describe('405', () => {
  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'QUERY'] as const)(
    'for %s, with Allow',
    async (method) => {
      const answer = await server.app.inject({ method: method as 'GET', url, headers: bearer() })
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST'])
      expect(answer.json().code).toBe('method_not_allowed')
    },
  )
})

describe('413', () => {
  it('for a body above 16 KiB', async () => {
    const answer = await verify({ nin: '12345678901', phone: PHONE, extra: 'x'.repeat(16 * 1024) })
    expect([answer.statusCode, answer.json().code]).toEqual([413, 'body_too_large'])
  })

  it('not for a body of just 16 KiB', async () => {
    const body = JSON.stringify({ nin: '12345678901', phone: PHONE, extra: '' })
    const padded = body.replace('"extra":""', `"extra":"${'x'.repeat(16 * 1024 - body.length)}"`)
    const answer = await server.app.inject({ method: 'POST', url, headers: bearer(), payload: padded })
    expect(answer.statusCode).toBe(200)
  })
})

describe('415', () => {
  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])(
    'for %s',
    async (type) => {
      const headers = { ...bearer(), 'content-type': type }
      const answer = await server.app.inject({ method: 'POST', url, headers, payload: '{}' })
      expect([answer.statusCode, answer.json().code]).toEqual([415, 'unsupported_media_type'])
    },
  )

  it('not for JSON with a charset, in any case', async () => {
    const headers = { ...bearer(), 'content-type': 'Application/JSON; charset=UTF-8' }
    const answer = await server.app.inject({
      method: 'POST',
      url,
      headers,
      payload: JSON.stringify({ nin: '12345678901', phone: PHONE }),
    })
    expect(answer.statusCode).toBe(200)
  })
})

describe('422 validation_failed', () => {
  it.each([undefined, {}, [], 'text', 5, null, { nin: '', phone: ' ' }, { nin: null, phone: null }])(
    'names every missing field of %j',
    async (payload) => {
      const answer = await server.app.inject({
        method: 'POST',
        url,
        headers: { ...bearer(), 'content-type': 'application/json' },
        ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
      })
      expect(answer.statusCode).toBe(422)
      expect(answer.json()).toMatchObject({
        code: 'validation_failed',
        errors: { nin: ['nin is required'], phone: ['phone is required'] },
      })
    },
  )

  it.each([
    '1234567890',
    '123456789012',
    '1234567890a',
    '１２３４５６７８９０１',
    '+1234567890',
    '123 456 789 01',
    'AB01234567891YZ',
    'AB0123456789101YZ',
    'A1012345678910YZ',
    'ÀB012345678910YZ',
    'AB 012345678910 YZ',
    'AB-012345678910-YZ',
  ])('for the nin %s', async (nin) => {
    const answer = await verify({ nin, phone: PHONE })
    expect(answer.json().errors).toEqual({
      nin: ['nin must be 11 digits, or a virtual NIN: two letters, 12 digits and two letters'],
    })
  })

  it('for numbers where strings belong', async () => {
    const answer = await verify({ nin: 12345678901, phone: 8031234567 })
    expect(answer.json().errors).toEqual({ nin: ['nin must be a string'], phone: ['phone must be a string'] })
  })

  it.each([
    '0603123456',
    '08231234567',
    '080312345678',
    '0803123456',
    '+1 803 123 4567',
    '٠٨٠٣١٢٣٤٥٦٧',
    '0803_1234567',
    '++2348031234567',
  ])('for the phone %s', async (phone) => {
    const answer = await verify({ nin: '12345678901', phone })
    expect(answer.json().errors.phone[0]).toMatch(/^phone must be a Nigerian mobile number/)
  })
})

describe('422 not_verified', () => {
  it('is the same for an unknown number and for a phone that differs', async () => {
    const headers = { ...bearer(), 'x-request-id': 'same-request-id' }
    const unknown = await verify({ nin: '00000000422', phone: PHONE }, headers)
    const differs = await verify({ nin: '12345678901', phone: '08000000000' }, headers)
    const strip = (body: string) => body.replace(/ver_[0-9a-z]{36}/, 'ver_')
    expect([unknown.statusCode, differs.statusCode]).toEqual([422, 422])
    expect(strip(unknown.body)).toBe(strip(differs.body))
    expect(unknown.json()).toMatchObject({
      success: false,
      code: 'not_verified',
      data: { verification_status: 'NOT_VERIFIED' },
    })
    const shown = ({ ratelimit: _left, date: _date, ...rest }: Record<string, unknown>) => rest
    expect(shown(unknown.headers)).toEqual(shown(differs.headers))
  })
})

describe('429', () => {
  it('for the scenario number, with Retry-After', async () => {
    const answer = await verify({ nin: '00000000429', phone: PHONE })
    expect([answer.statusCode, answer.json().code]).toEqual([429, 'rate_limited'])
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  })

  it('above the limit of the key, and not for another key', async () => {
    const limited = await openTestApp({ TABBAT_RATE_LIMIT: '2' })
    const ask = (key: string) =>
      limited.app.inject({
        method: 'POST',
        url,
        headers: bearer(key),
        payload: { nin: '12345678901', phone: PHONE },
      })
    const [one, other] = [await limited.createKey(), await limited.createKey()]
    const first = await ask(one)
    expect(first.headers['ratelimit-policy']).toBe('"key";q=2;w=60')
    expect(first.headers.ratelimit).toBe('"key";r=1;t=60')
    expect((await ask(one)).statusCode).toBe(200)
    const third = await ask(one)
    expect([third.statusCode, third.json().code, third.json().retryable]).toEqual([429, 'rate_limited', true])
    expect(Number(third.headers['retry-after'])).toBeGreaterThan(0)
    expect((await ask(other)).statusCode).toBe(200)
    // A successor has what is left of the limit of its predecessor.
    const deps = { ...limited.context, keyring: limited.context.keyring() }
    const successor = await rollKey(deps, one.slice(9, 17), 0)
    expect((await ask(successor.text)).statusCode).toBe(429)
    await limited.close()
  })
})

describe.each([
  ['00000000502', 502, 'source_bad_response'],
  ['00000000503', 503, 'source_unavailable'],
  ['00000000504', 504, 'source_timeout'],
])('the scenario %s', (nin, status, code) => {
  it(`is ${status} ${code}, to be tried again later`, async () => {
    const answer = await verify({ nin, phone: PHONE })
    expect([answer.statusCode, answer.json().code, answer.json().retryable]).toEqual([status, code, true])
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  })

  it('carries the reference under which the audit log has it', async () => {
    const { data } = (await verify({ nin, phone: PHONE })).json()
    const rows = await server.context.store.audit.byReference(data.request_reference)
    expect(rows.map(({ outcome }) => outcome)).toEqual([code])
    expect(Object.keys(data)).toEqual(['request_reference'])
  })
})

describe('live mode without a source', () => {
  it('is 503 source_unavailable, and never a synthetic person', async () => {
    const key = await server.createKey({ mode: 'live' })
    const answer = await verify({ nin: '12345678901', phone: PHONE }, bearer(key))
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'source_unavailable'])
  })
})

describe('a server without a sandbox', () => {
  it('refuses every test key', async () => {
    const live = await openTestApp({ TABBAT_SANDBOX: 'off' })
    for (const headers of [bearer(), bearer(await live.createKey())]) {
      const answer = await live.app.inject({
        method: 'POST',
        url,
        headers,
        payload: { nin: '12345678901', phone: PHONE },
      })
      expect(answer.statusCode).toBe(401)
    }
    await live.close()
  })

  it('refuses the public key on a network address, and accepts other test keys', async () => {
    const open = await openTestApp({ TABBAT_HOST: '0.0.0.0' })
    const ask = (headers: Record<string, string>) =>
      open.app.inject({ method: 'POST', url, headers, payload: { nin: '12345678901', phone: PHONE } })
    expect((await ask(bearer())).statusCode).toBe(401)
    expect((await ask(bearer(await open.createKey()))).statusCode).toBe(200)
    await open.close()
  })
})
