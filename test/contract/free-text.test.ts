import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdsPersonNumber } from '../../src/contract/free-text.ts'

const NIN = '71234567890'

describe('text that could name a person by a number', () => {
  it.each([
    NIN,
    '8031234567',
    'ref 7123-4567-890 x',
    '(0803) 123.4567',
    '+234 803 123 4567',
    '0803\u200b123\u200d4567',
    '7\u06031\u20632\u00ad3456 78 90',
    '７１２３４５６７８９０',
    '٧١٢٣٤٥٦٧٨٩٠',
    '𝟕𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗𝟎',
    '⑦①②③④⑤⑥⑦⑧⑨⓪',
    '7️⃣1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣7️⃣8️⃣9️⃣0️⃣',
    [...NIN].join('x'),
    '7a1b2c3d4e5f6g7h8i9j0',
    '71ab23cd45ef67gh89ij0',
    '0803x123x4567',
    '0803NIN123NIN4567',
    'consent:71.23/45:67_89-0',
    '1763200000000',
    '08031234-5678-4012-8345-678901234567',
    '712345678901',
    '20261115103000',
  ])('%s', (text) => expect(holdsPersonNumber(text)).toBe(true))

  it('holds it with anything but letters between its digits, in any script, within other text', () => {
    const number = fc
      .array(fc.integer({ min: 0, max: 9 }), { minLength: 10, maxLength: 13 })
      .filter((digits) => !digits.join('').includes('20'))
    const between = fc.array(
      fc.constantFrom('', ' ', '-', '.', '/', '(', '\u200b', '\u202e', '–', '\n', '_', '❤'),
      {
        minLength: 13,
        maxLength: 13,
      },
    )
    const zero = fc.constantFrom(0x30, 0xff10, 0x660, 0x966, 0x1d7ce)
    const around = fc.constantFrom('', 'consent ', 'é', 'Ref. ')
    fc.assert(
      fc.property(number, between, zero, around, around, (digits, separators, first, before, after) => {
        const spelt = digits.map((digit, index) => String.fromCodePoint(first + digit) + separators[index])
        expect(holdsPersonNumber(before + spelt.join('') + after)).toBe(true)
      }),
    )
  })
})

describe('text that does not', () => {
  it.each([
    'CONSENT-2026-11-15-0001',
    'CNS-20261115-000123',
    '15/11/2026-4711',
    '2026-11-15T10:30:00Z',
    'shop/2026/000123',
    'C:2026-10_1.a',
    'form-17/2026',
    'INC0012345, INC0012346',
    'KYC2026Q4B12N000345',
    '507f1f77bcf86cd799439011',
    '12345678-9012-4abc-8345-678901234567',
    'Customer asked on 2026-11-15, ticket 12345678',
    '123456789',
    'Shop of the branch at 12 Allen Avenue, 2nd floor',
    '',
  ])('%s', (text) => expect(holdsPersonNumber(text)).toBe(false))

  it('is every random id, and every date with a counter', () => {
    const letters = (id: string) => id.replaceAll(/[^a-z]/gi, '').length
    fc.assert(
      fc.property(fc.uuid(), fc.ulid(), (uuid, ulid) => {
        if (letters(uuid) >= 2) expect(holdsPersonNumber(`consent:${uuid}`)).toBe(false)
        if (letters(ulid) >= 6) expect(holdsPersonNumber(`consent/${ulid}`)).toBe(false)
      }),
    )
    const day = fc.date({ min: new Date('2000-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(day, fc.constantFrom('', '-', '.'), fc.nat(999_999_999), (date, sign, counter) => {
        const text = date.toISOString().slice(0, 10).replaceAll('-', sign)
        expect(holdsPersonNumber(`CNS-${text}-${counter}`)).toBe(false)
      }),
    )
  })
})
