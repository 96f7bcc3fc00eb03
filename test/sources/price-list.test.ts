import { describe, expect, it } from 'vitest'
import { toDuration, toPrice, withoutDuplicates } from '../../src/sources/price-list.ts'

describe('toPrice', () => {
  it.each([
    ['1020.00', '1020'],
    ['1020', '1020'],
    [1000, '1000'],
    [' 99.5 ', '99.50'],
    ['99.50', '99.50'],
    ['99.5000', '99.50'],
    ['0050', '50'],
    ['0.00', undefined],
    [0, undefined],
  ])('reads %j as %j', (value, price) => {
    expect(toPrice('vtpass', value)).toBe(price)
  })

  it.each(['', 'free', '-5', '1,020', '1e3', null, undefined, {}, Number.NaN, 1e12])(
    'rejects %j as a price',
    (value) => {
      expect(() => toPrice('vtpass', value)).toThrow(
        expect.objectContaining({ reason: 'bad_response', problem: 'unknown_shape' }),
      )
    },
  )
})

it.each([
  [' 1GB FlexiDaily for 1days - 450 Naira', '1 day'],
  ['5GB Bigga for 30days', '30 days'],
  ['90 Days', '90 days'],
  ['Spectranet N1000', ''],
])('toDuration reads %j as %j', (label, duration) => {
  expect(toDuration(label)).toBe(duration)
})

it('merges duplicates, and rejects duplicates with different prices', () => {
  const one = { code: 'A1', price: '5' }
  expect(withoutDuplicates('baxi', [one, { ...one, code: 'a1' }])).toEqual([one])
  expect(() => withoutDuplicates('baxi', [one, { ...one, price: '6' }])).toThrow('baxi: bad_response')
})
