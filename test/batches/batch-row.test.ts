import { describe, expect, it } from 'vitest'
import { createCheckRow } from '../../src/batches/batch-row.ts'
import { SCOPES, type Scope } from '../../src/contract/scope.ts'

const NIN = { operation: 'verify_nin', nin: ' 12345678901 ', phone: '0803 123 4567' }
const BVN = { operation: 'verify_bvn', bvn: '22345678901', phone: '08031234567', amount: '100.50' }

const check = (fields: Record<string, unknown>, scopes: readonly Scope[] = SCOPES) =>
  createCheckRow(new Set(scopes))({ line: 7, fields })

describe('a row of a batch', () => {
  it('is a verification, with the fields of its operation', () => {
    expect(check({ ...NIN, reference: ' customer 1 ', bvn: 'ignored', other: [] })).toEqual({
      line: 7,
      kind: 'nin',
      number: '12345678901',
      phone: '0803 123 4567',
      reference: 'customer 1',
    })
    expect(check({ ...BVN, consent_reference: 'c-1' })).toEqual({
      line: 7,
      kind: 'bvn',
      number: '22345678901',
      phone: '08031234567',
      amount: '100.50',
      consentReference: 'c-1',
    })
  })

  it('is refused with every bad field, and without a value', () => {
    const refused = check({
      operation: 'verify_bvn',
      bvn: '2234567890',
      phone: 8031234567,
      reference: 'x'.repeat(101),
    })
    expect(refused).toEqual({
      refusals: [
        { field: 'bvn', message: 'bvn must be 11 digits' },
        { field: 'phone', message: 'phone must be a string' },
        { field: 'amount', message: 'amount is required' },
        { field: 'reference', message: 'reference must be a string of at most 100 characters on one line' },
      ],
    })
    expect(JSON.stringify(refused)).not.toContain('2234567890')
  })

  it.each([undefined, 'verify_everyone', 'toString', 'constructor', 7, null])(
    'needs an operation: %j',
    (operation) => {
      expect(check({ ...NIN, operation, reference: 'mine' })).toEqual({
        refusals: [{ field: 'operation', message: 'operation must be verify_nin or verify_bvn' }],
        reference: 'mine',
      })
    },
  )

  it('needs the scope of its operation', () => {
    expect(check(BVN, ['kyc:nin'])).toEqual({
      refusals: [
        { field: 'operation', message: 'operation needs the scope kyc:bvn, which this key does not have' },
      ],
    })
    expect(check(NIN, ['kyc:nin'])).toMatchObject({ kind: 'nin' })
  })

  it.each(['two\nlines', '\u0000', '\ud800', 5, {}])('refuses the reference %j', (reference) => {
    expect(check({ ...NIN, reference })).toEqual({
      refusals: [expect.objectContaining({ field: 'reference' })],
    })
  })

  it('says why a row could not be read', () => {
    expect(createCheckRow(new Set(SCOPES))({ line: 3, problem: 'The row is not valid JSON.' })).toEqual({
      refusals: [{ field: null, message: 'The row is not valid JSON.' }],
    })
  })
})
