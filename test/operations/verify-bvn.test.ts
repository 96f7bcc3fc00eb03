import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BvnResponse } from '../../src/contract/bvn.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'

const isBvnResponse = new Ajv({ strict: false, allowUnionTypes: true }).compile(BvnResponse)
let server: TestApp

beforeAll(async () => {
  server = await openTestApp()
})
afterAll(() => server.close())

const verify = (payload: object) =>
  server.app.inject({ method: 'POST', url: '/api/v2/kyc/verify-bvn', headers: bearer(), payload })

describe('200', () => {
  it.each(['22222222222', '00000000001', '00000000002', '00000000003'])(
    'has exactly the fields of the contract for %s',
    async (bvn) => {
      const answer = await verify({ bvn, phone: PHONE, amount: '100' })
      expect(answer.statusCode).toBe(200)
      expect(isBvnResponse(answer.json()), JSON.stringify(isBvnResponse.errors)).toBe(true)
      expect(answer.json().data).toMatchObject({
        bvn_number: bvn,
        service_type: 'BVN',
        verification_status: 'VERIFIED',
      })
    },
  )

  it('leaves unknown fields of a sparse record empty or null', async () => {
    const { data } = (await verify({ bvn: '00000000001', phone: PHONE, amount: '0' })).json()
    expect([data.formatted_registration_date, data.watchlisted, data.personal_info.phone_number_2]).toEqual([
      null,
      null,
      null,
    ])
    expect([data.nin, data.personal_info.email, data.personal_info.middle_name]).toEqual(['', '', ''])
  })

  it('says when a person is on the watch list, and null when not', async () => {
    expect((await verify({ bvn: '00000000002', phone: PHONE, amount: '0' })).json().data.watchlisted).toBe(
      'YES',
    )
    expect(
      (await verify({ bvn: '22222222222', phone: PHONE, amount: '0' })).json().data.watchlisted,
    ).toBeNull()
  })

  it.each(['0', '100', '100.5', '100.50', '999999999.99', ' 5 '])('takes the amount %s', async (amount) => {
    expect((await verify({ bvn: '22222222222', phone: PHONE, amount })).statusCode).toBe(200)
  })
})

describe('422 validation_failed', () => {
  it('names all three fields', async () => {
    const answer = await verify({})
    expect(answer.json().errors).toEqual({
      bvn: ['bvn is required'],
      phone: ['phone is required'],
      amount: ['amount is required'],
    })
  })

  it.each(['-1', '1.234', '1234567890', '1,000', '1e3', 'NaN', '.5', '5.', '٥', '0x10'])(
    'for the amount %s',
    async (amount) => {
      const answer = await verify({ bvn: '22222222222', phone: PHONE, amount })
      expect(Object.keys(answer.json().errors)).toEqual(['amount'])
      expect(answer.json().errors.amount[0]).toMatch(/^amount must be an amount such as 100 or 100.50/)
    },
  )

  it('for an amount that is a number', async () => {
    const answer = await verify({ bvn: '22222222222', phone: PHONE, amount: 100 })
    expect(answer.json().errors).toEqual({ amount: ['amount must be a string'] })
  })
})

describe('422 not_verified', () => {
  it.each([
    ['an unknown number', '00000000422', PHONE],
    ['a phone that differs', '22222222222', '08000000000'],
  ])('for %s, without personal data', async (_what, bvn, phone) => {
    const answer = await verify({ bvn, phone, amount: '1' })
    expect(answer.statusCode).toBe(422)
    expect(Object.keys(answer.json())).toEqual([
      'success',
      'code',
      'message',
      'retryable',
      'request_id',
      'data',
    ])
    expect(Object.keys(answer.json().data)).toEqual(['request_reference', 'verification_status'])
  })
})

describe('scenarios', () => {
  it.each([
    ['00000000429', 429, 'rate_limited'],
    ['00000000502', 502, 'source_bad_response'],
    ['00000000503', 503, 'source_unavailable'],
    ['00000000504', 504, 'source_timeout'],
  ])('%s is %d %s', async (bvn, status, code) => {
    const answer = await verify({ bvn, phone: PHONE, amount: '1' })
    expect([answer.statusCode, answer.json().code]).toEqual([status, code])
    expect(answer.headers['retry-after']).toBeTruthy()
  })
})
