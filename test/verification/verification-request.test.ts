import { describe, expect, it } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { toCaller } from '../../src/keys/caller.ts'
import { type OptionValues, withDefaults } from '../../src/keys/options.ts'
import { toGuess, toVerificationRequest } from '../../src/verification/verification-request.ts'

const NUMBER = '41000000001'
const VIRTUAL = 'ab012345678910yz'
const INPUTS = { number: NUMBER, phone: '+234 803 123 4567' }

type Wish = {
  readonly headers?: Record<string, string | string[]>
  readonly key?: Partial<OptionValues>
  readonly inputs?: Partial<Parameters<typeof toVerificationRequest>[1]>
  readonly purposes?: readonly string[]
}

function read({ headers = {}, key = {}, inputs = {}, purposes }: Wish = {}) {
  const caller = toCaller({
    ...withDefaults(key),
    id: 'k3JbvwRd',
    lineage: 'k3JbvwRd',
    mode: 'live',
    scopes: ['kyc:nin'],
  })
  const exchange = { reference: undefined as string | undefined }
  const incoming = { caller, requestId: 'req_1', origin: 'https://verify.example', headers, exchange }
  const request = toVerificationRequest(incoming as never, { ...INPUTS, ...inputs }, purposes)
  return { request, exchange }
}

/** By field. */
function problemsOf(wish: Wish) {
  try {
    read(wish)
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, ...error.errors }
  }
  return undefined
}

describe('the request of a verification', () => {
  it('has the number and the phone as they are compared, and what the headers say', () => {
    const { request, exchange } = read({
      headers: {
        'idempotency-key': 'order-1',
        'x-consent-reference': 'consent/2026-11:7',
        'x-purpose': ' Account-Opening ',
      },
      inputs: { amount: '100', details: { first_name: 'Amina' } },
    })
    expect(request).toMatchObject({
      number: NUMBER,
      phone: '8031234567',
      amount: '100',
      details: { first_name: 'Amina' },
      idempotencyKey: 'order-1',
      consentReference: 'consent/2026-11:7',
      purpose: 'account-opening',
      refusesReuse: false,
      requestId: 'req_1',
      origin: 'https://verify.example',
      account: undefined,
    })
    expect(request.reference).toMatch(/^ver_/)
    expect(exchange.reference).toBe(request.reference)
  })

  it('has none of these without the headers', () => {
    const { request } = read()
    expect(request).toMatchObject({ idempotencyKey: undefined, consentReference: undefined })
    expect(request).not.toHaveProperty('purpose')
  })

  it('has a virtual NIN in capitals', () => {
    expect(read({ inputs: { number: VIRTUAL } }).request.number).toBe('AB012345678910YZ')
  })

  it('takes a header that was sent twice as one, separated by a comma', () => {
    expect(read({ headers: { 'idempotency-key': ['a', 'b'] } }).request.idempotencyKey).toBe('a,b')
  })

  it.each([
    ['no-cache', true],
    ['no-store', true],
    ['max-age=0, No-Cache', true],
    ['no-cache="set-cookie"', true],
    ['max-age=0 no-store', true],
    ['no-store,max-age=0', true],
    ['max-age=0', false],
    ['x-no-cache', false],
    ['no-cached', false],
    ['', false],
  ])('with Cache-Control: %s refuses reuse: %s', (header, expected) => {
    expect(read({ headers: { 'cache-control': header } }).request.refusesReuse).toBe(expected)
  })

  it('counts as one guess with others that have the same phone and details', () => {
    expect(toGuess({ phone: '8031234567' })).toBe('8031234567')
    expect(toGuess({ phone: '8031234567', details: { first_name: 'Amina' } })).toBe(
      '8031234567 {"first_name":"Amina"}',
    )
  })
})

describe('a consent reference', () => {
  const withReference = (reference: string, wish: Wish = {}) =>
    problemsOf({ ...wish, headers: { 'x-consent-reference': reference } })?.['X-Consent-Reference' as never]

  it('is required where the key says so', () => {
    expect(problemsOf({ key: { requiresConsent: true } })).toEqual({
      code: 'validation_failed',
      'X-Consent-Reference': ['X-Consent-Reference is required for this key'],
    })
    expect(withReference('a', { key: { requiresConsent: true } })).toBeUndefined()
    expect(problemsOf({})).toBeUndefined()
  })

  it.each(['a', 'A1._:/-', 'x'.repeat(100)])('may be %s', (reference) => {
    expect(withReference(reference)).toBeUndefined()
  })

  it.each(['', 'x'.repeat(101), 'two words', 'ünï', 'a,b', 'a?b'])('may not be %j', (reference) => {
    expect(withReference(reference)).toEqual([
      'X-Consent-Reference must be 1 to 100 letters, digits or . _ : / -',
    ])
  })

  it.each([
    ['the number', `c-${NUMBER}`, NUMBER],
    ['the number with signs', '410-000-000-01', NUMBER],
    ['the phone', 'c/08031234567', NUMBER],
    ['the phone in another spelling', '+2348031234567'.slice(1), NUMBER],
    ['the digits of a virtual NIN', '012345678910', VIRTUAL],
    ['the number of another person', '41000000002', NUMBER],
  ])('may not hold %s', (_name, reference, number) => {
    expect(withReference(reference, { inputs: { number } })).toBeDefined()
  })

  it.each([
    ['the number', '41a0000bb00001', NUMBER],
    ['the digits of a virtual NIN', '01a2345bb678910', VIRTUAL],
    ['the phone', '80a3123bb4567', NUMBER],
  ])(
    'may not hold %s among letters, while another number among letters is a random text',
    (_name, reference, number) => {
      expect(withReference(reference, { inputs: { number } })).toEqual([
        'X-Consent-Reference must not contain the number or the phone',
      ])
      const other = { number: '42000000009', phone: '08099999999' }
      expect(withReference(reference, { inputs: other })).toBeUndefined()
    },
  )
})

describe('a purpose', () => {
  const problemOf = (purpose: string, purposes?: readonly string[]) =>
    problemsOf({ headers: { 'x-purpose': purpose }, ...(purposes && { purposes }) })?.['X-Purpose' as never]

  it('is one of those that are allowed, in any case', () => {
    expect(problemOf('Loan', ['loan', 'account'])).toBeUndefined()
    expect(problemOf('anything')).toBeUndefined()
    expect(problemOf('other', ['loan', 'account'])).toEqual(['X-Purpose must be one of loan, account'])
  })

  it('is refused with the other problems of the request', () => {
    const headers = { 'x-purpose': 'not a purpose!', 'x-consent-reference': '?' }
    const key = { requireMatch: 'both' } as const
    expect(Object.keys(problemsOf({ headers, key }) ?? {})).toEqual([
      'code',
      'X-Consent-Reference',
      'X-Purpose',
      'first_name',
      'last_name',
      'date_of_birth',
    ])
  })
})

describe('details that the key requires', () => {
  it.each([
    ['name', {}, ['first_name', 'last_name']],
    ['name', { first_name: 'Amina' }, ['last_name']],
    ['name', { first_name: 'Amina', last_name: 'Okafor' }, undefined],
    ['dob', { first_name: 'Amina' }, ['date_of_birth']],
    ['dob', { date_of_birth: '1990-01-05' }, undefined],
    ['both', { date_of_birth: '1990-01-05' }, ['first_name', 'last_name']],
  ] as const)('%s, given %j: %j are missing', (requireMatch, details, missing) => {
    expect(problemsOf({ key: { requireMatch }, inputs: { details } })).toEqual(
      missing && {
        code: 'validation_failed',
        ...Object.fromEntries(missing.map((field) => [field, [`${field} is required for this key`]])),
      },
    )
  })

  it('are missing where no details are given', () => {
    expect(problemsOf({ key: { requireMatch: 'dob' } })).toHaveProperty('date_of_birth')
  })
})
