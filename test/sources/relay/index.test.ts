import { describe, expect, it } from 'vitest'
import { HOUR_MS } from '../../../src/contract/time.ts'
import bvnReply from '../../../src/sources/relay/fixtures/bvn.json' with { type: 'json' }
import ninReply from '../../../src/sources/relay/fixtures/nin.json' with { type: 'json' }
import {
  create,
  createVerifiedCheck,
  readToken,
  toBvnRecord,
  toNinRecord,
} from '../../../src/sources/relay/index.ts'
import { check } from '../../../src/sources/relay/settings.ts'
import type { HttpReply, HttpRequest } from '../../../src/sources/source.ts'

describe('a record', () => {
  it('is copied, including masked values, without the URL of the picture', () => {
    const record = toNinRecord(ninReply)
    expect(record.personal_info).toEqual({
      ...ninReply.data.personal_info,
      phone_number: '08031234567',
      image_url: '',
    })
    expect(new Set(Object.values(record.next_of_kin))).toEqual(new Set(['****']))
    expect(record.indigene_info).toEqual(ninReply.data.indigene_info)
    expect(record).not.toHaveProperty('request_reference')
  })

  it('of a BVN is copied', () => {
    const { request_reference: _1, verification_status: _2, service_type: _3, ...data } = bvnReply.data
    expect(toBvnRecord(bvnReply)).toEqual(data)
  })

  it.each([
    [true, 'YES'],
    ['YES', 'YES'],
    [{ list: 'NIBSS' }, 'YES'],
    [false, null],
    ['NO', null],
    [[], null],
    [null, null],
  ])('keeps the watch list entry %j as %j', (watchlisted, told) => {
    expect(toBvnRecord({ data: { ...bvnReply.data, watchlisted } }).watchlisted).toBe(told)
  })
})

describe('a reply', () => {
  const isVerified = (status: number, body: unknown) => createVerifiedCheck('relay')({ status, body })
  const withMessage = (message: string) => ({ success: false, message })

  it('is verified only with 200, success and VERIFIED', () => {
    expect(isVerified(200, ninReply)).toBe(true)
    expect(() => isVerified(200, { ...ninReply, success: false })).toThrow('bad_response')
    expect(() => isVerified(200, { success: true, data: {} })).toThrow('bad_response')
    expect(() => isVerified(200, { success: true, data: { verification_status: 'PENDING' } })).toThrow(
      'bad_response',
    )
  })

  it.each([
    [422, { success: false, code: 'not_verified', message: 'x' }],
    [422, withMessage('NIN could not be verified')],
    [404, withMessage('BVN record not found')],
    [422, withMessage('Phone number does not match')],
    [422, { success: false, message: 'x', data: { verification_status: 'NOT_VERIFIED' } }],
    [200, { success: true, data: { verification_status: 'NOT VERIFIED' } }],
  ])('is not found for %d %j', (status, body) => {
    expect(isVerified(status, body)).toBe(false)
  })

  it.each([
    [422, { code: 'validation_failed', message: 'phone does not match', errors: {} }, 'bad_response'],
    [404, withMessage('Merchant not found'), 'refused'],
    [422, withMessage('NIN could not be verified at this time'), 'unreachable'],
    [
      422,
      { message: 'Could not be verified at this time', data: { verification_status: 'NOT_VERIFIED' } },
      'unreachable',
    ],
    [422, { message: 'The nin field is required.', errors: { nin: [] } }, 'bad_response'],
    [404, { code: 'not_found', message: 'There is nothing at this address.' }, 'bad_response'],
    [404, { message: 'The route api/v2/kyc/verify-nin could not be found.' }, 'bad_response'],
    [404, { message: 'Not Found' }, 'bad_response'],
    [422, withMessage('The phone does not match the required format.'), 'bad_response'],
    [422, withMessage('phone: value does not match pattern ^0\\d{10}$'), 'bad_response'],
    [404, undefined, 'bad_response'],
    [401, { message: 'Unauthenticated.' }, 'refused'],
    [402, {}, 'refused'],
    [403, { code: 'forbidden' }, 'refused'],
    [429, { code: 'too_many_attempts' }, 'throttled'],
    [502, { code: 'source_bad_response' }, 'unreachable'],
    [503, { code: 'audit_unavailable' }, 'unreachable'],
    [504, { code: 'source_timeout' }, 'timeout'],
  ])('is an error for %d %j: %s', (status, body, reason) => {
    expect(() => isVerified(status, body)).toThrow(reason)
  })
})

describe('the token', () => {
  const NOW = new Date('2026-01-01T00:00:00Z')

  it.each([
    [{ data: { token: { access_token: 'a' } } }],
    [{ data: { token: { token: 'a' } } }],
    [{ data: { access_token: 'a' } }],
    [{ token: 'a' }],
  ])('is read from %j', (body) => {
    expect(readToken('relay', body, NOW)).toEqual({ text: 'a', lifetimeMs: undefined })
  })

  it.each([
    ['2026-01-01 12:00:00', 9 * HOUR_MS],
    ['2026-01-01T12:00:00Z', 10 * HOUR_MS],
    ['2026-01-01T12:00:00.000000Z', 10 * HOUR_MS],
    ['2026-01-01 00:30:00', 60_000],
    ['tomorrow', undefined],
  ])('until %s is used for %s ms', (expires_at, lifetimeMs) => {
    const body = { success: true, data: { token: { access_token: 'a', expires_at } } }
    expect(readToken('relay', body, NOW).lifetimeMs).toBe(lifetimeMs)
  })

  it('is refused when the server reports a failure with 200, or sends an invalid token', () => {
    const token = { data: { token: { access_token: 'a' } } }
    const signs = [
      { success: 'false' },
      { status: false },
      { status: 'error' },
      { error: 'x' },
      { code: 401 },
    ]
    for (const sign of [{ success: false }, ...signs])
      expect(() => readToken('relay', { ...token, ...sign }, NOW)).toThrow('refused')
    for (const sign of [{ success: true }, { status: 'success' }, { code: 200, error: null }])
      expect(readToken('relay', { ...token, ...sign }, NOW).text).toBe('a')
    expect(() => readToken('relay', { data: { token: 'a b\n' } }, NOW)).toThrow('bad_response')
  })
})

describe('the credentials', () => {
  const values = {
    url: 'https://verify.example.com/api/v2',
    price: 0,
    ninPrice: undefined,
    bvnPrice: undefined,
    dailyCap: undefined,
    connections: 512,
    key: undefined,
    publicKey: undefined,
    secretKey: undefined,
    tokenPath: '/merchant/authorization',
    amount: '0',
    notFound: undefined,
    traceparent: 'off' as const,
  }
  const call = { signal: AbortSignal.timeout(60_000), reference: 'ver_test' }
  const requests: HttpRequest[] = []
  const send = async (request: HttpRequest): Promise<HttpReply> => {
    requests.push(request)
    const token = { success: true, data: { token: { access_token: 'given' } } }
    return { status: 200, body: request.path === values.tokenPath ? token : bvnReply }
  }

  it.each([{}, { publicKey: 'p' }, { secretKey: 's' }])('are required: %j is not enough', (given) => {
    expect(check({ ...values, ...given })).toMatch(/^TABBAT_RELAY_KEY is required to use relay, or both/)
  })

  it.each([{ key: 'k' }, { publicKey: 'p', secretKey: 's' }])('are enough with %j', (given) => {
    expect(check({ ...values, ...given })).toBeUndefined()
  })

  it('are a key, or two keys for a token; the amount comes from the settings', async () => {
    requests.length = 0
    for (const given of [{ key: 'own-key' }, { publicKey: 'p', secretKey: 's' }])
      await create({ ...values, ...given }, { send }).findBvn?.(
        { bvn: '22345678901', phone: '8031234567' },
        call,
      )
    const body = { bvn: '22345678901', phone: '08031234567', amount: '0' }
    expect(requests).toMatchObject([
      { path: '/kyc/verify-bvn', headers: { authorization: 'Bearer own-key' }, body },
      { path: '/merchant/authorization', headers: { authorization: `Basic ${btoa('p:s')}` } },
      { path: '/kyc/verify-bvn', headers: { authorization: 'Bearer given' }, body },
    ])
    expect(requests[1]).not.toHaveProperty('body')
  })
})
