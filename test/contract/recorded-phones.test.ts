import { describe, expect, it } from 'vitest'
import { readRecordedPhones, UNREADABLE } from '../../src/contract/record.ts'

const A = '08031234567'
const B = '08091234567'

describe('the phones of a record', () => {
  it.each([
    A,
    ` ${A}\n`,
    '8031234567',
    8031234567,
    2348031234567,
    '2348031234567',
    '+2348031234567',
    '002348031234567',
    '+23408031234567',
    '23408031234567',
    '+234(0)803 123 4567',
    '0803-123-4567',
    '0803 123 4567',
    '(0803) 123.4567',
    '０８０３１２３４５６７',
    '0803‑123‑4567',
    '\u202a+2348031234567\u202c',
    [A],
    [A, null, ''],
    `${A},`,
    `${A} / N/A`,
  ])('are read from %j', (value) => {
    expect(readRecordedPhones(value)).toEqual([A])
  })

  it.each([
    `${A},${B}`,
    `${A}, ${B}`,
    `${A}/${B}`,
    `${A};${B}`,
    `${A}|${B}`,
    `${A} ${B}`,
    `${A}\n${B}`,
    `${A} and ${B}`,
    `${A} or ${B}`,
    `${A} & ${B}`,
    '0803 123 4567 0809 123 4567',
    '8031234567 8091234567',
    '+2348031234567 +2348091234567',
    '+23408031234567,2348091234567',
    `${A} - ${B}`,
    [A, B],
    [`${A};${B}`],
    [8031234567, '+2348091234567'],
  ])('are several in %j', (value) => {
    expect(readRecordedPhones(value)).toEqual([A, B])
  })

  it.each([
    undefined,
    null,
    '',
    '  ',
    'N/A',
    'n.a.',
    'NA',
    'nil',
    'None',
    'null',
    '-',
    '0',
    '00000000000',
    [],
    [null],
  ])('are none in %j', (value) => {
    expect(readRecordedPhones(value)).toEqual([])
  })

  it.each([
    '080****4567',
    '***********',
    '0803XXX4567',
    '0803123456',
    '080312345678',
    '0803 123 4567 8',
    '08031234567.0',
    '8.03E+09',
    // Mobiles without their 234, or with one zero too many. The last ones are cut besides.
    '+8031234567',
    '+ 803 123 4567',
    '008031234567',
    '00 8031234567',
    '+08031234567',
    '0008031234567',
    '+7011234567',
    '+9161234567',
    '+803123456',
    '0080312345',
    'hidden',
    '01-2345678',
    'ext. 12',
    true,
    {},
    [['08031234567']],
    '0'.repeat(501),
    '1'.repeat(600),
  ])('cannot be read in %j', (value) => {
    expect(readRecordedPhones(value)).toEqual([UNREADABLE])
  })

  it('may be readable and not, side by side', () => {
    expect(readRecordedPhones(`${A}, 080****4567`)).toEqual([A, UNREADABLE])
    expect(readRecordedPhones([A, { number: B }])).toEqual([A, UNREADABLE])
    expect(readRecordedPhones(`${A}/8`)).toEqual([A, UNREADABLE])
    expect(readRecordedPhones(`${A}, +8091234567`)).toEqual([A, UNREADABLE])
  })

  it('may be of another country: that can be read, and is no Nigerian mobile', () => {
    expect(readRecordedPhones('+44 7911 123456')).toEqual(['+447911123456'])
    expect(readRecordedPhones('0044 7911 123456')).toEqual(['+447911123456'])
  })

  it.each([
    '+12025550123',
    '+22890123456',
    '+233201234567',
    '+4915112345678',
    '+79161234567',
    '+71234567890',
    '+80012345678',
    '+81312345678',
    '+819012345678',
    '+905321234567',
    '+919812345678',
    '+971501234567',
  ])('may be of another country, as %s is', (phone) => {
    expect(readRecordedPhones(phone)).toEqual([phone])
    expect(readRecordedPhones(phone.replace('+', '00'))).toEqual([phone])
  })

  it.each(['(', '-', '.', '7 0 ', '2 3 4 ', '(0)'])('are searched in bounded time in many %j', (sign) => {
    expect(readRecordedPhones(`1${sign.repeat(160)}`)).toEqual([UNREADABLE])
  })
})
