import { expect, it } from 'vitest'
import { toNaira } from '../../src/contract/naira.ts'

it.each([
  [0, '₦0.00'],
  [5, '₦0.05'],
  [99_999, '₦999.99'],
  [100_000, '₦1,000.00'],
  [123_456_789, '₦1,234,567.89'],
  [-123_456_789, '₦-1,234,567.89'],
  [0.29 * 100 * 100, '₦29.00'],
])('%d kobo is %s', (kobo, text) => {
  expect(toNaira(kobo)).toBe(text)
})

it('is what Intl writes', () => {
  const intl = new Intl.NumberFormat('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  for (let kobo = 7; kobo < 1e15; kobo = kobo * 3 + 1)
    expect(toNaira(kobo)).toBe(`₦${intl.format(kobo / 100)}`)
})
