import { describe, expect, it } from 'vitest'
import { toHarmless } from '../../src/server/terminal.ts'

describe('a message', () => {
  it.each([
    ['22345678901', '[number]'],
    ['customer-22345678901.csv', 'customer-[number].csv'],
    ['nin_22345678901', 'nin_[number]'],
    ['+2348031234567', '+[number]'],
    ['AB012345678910YZ', 'AB[number]YZ'],
    ['22345678901'.repeat(4), '[number]'],
  ])('does not show %s', (given, shown) => {
    expect(toHarmless(`There is no file ${given}.`)).toBe(`There is no file ${shown}.`)
  })

  it.each([
    'ver_01k9z0123456789012345678901234567890',
    `${'0123456789'.repeat(6)}abcd`,
    'It must be a number from 0 to 4294967295.',
    'port 65535, 300000000 rows, 2026-11-19T20:15:00.000Z',
  ])('shows %s', (text) => {
    expect(toHarmless(text)).toBe(text)
  })
})
