import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Day,
  readDay,
  toHyphenatedDay,
  toLongDay,
  toNumericDay,
  toShortDay,
} from '../../../src/contract/time.ts'

const FIFTH_OF_JANUARY: Day = { year: 1990, month: 1, day: 5 }
const NOW = new Date('2026-06-15T12:00:00Z')

const days = fc
  .date({ min: new Date('1900-01-01T00:00:00Z'), max: new Date('2026-06-14T00:00:00Z'), noInvalidDate: true })
  .map(
    (date): Day => ({ year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }),
  )

const pad = (value: number) => String(value).padStart(2, '0')
const iso = ({ year, month, day }: Day) => `${year}-${pad(month)}-${pad(day)}`
const withoutComma = (text: string) => text.replace(',', '')

const SPELLINGS: Record<string, (day: Day) => string> = {
  '05-01-1990': toNumericDay,
  '5/1/1990': ({ year, month, day }) => `${day}/${month}/${year}`,
  '05.01.1990': ({ year, month, day }) => `${pad(day)}.${pad(month)}.${year}`,
  '1990-01-05': iso,
  '1990/01/05': (day) => iso(day).replaceAll('-', '/'),
  '1990-01-05T00:00:00.000Z': (day) => `${iso(day)}T00:00:00.000Z`,
  '1990-01-05T23:59:59+01:00': (day) => `${iso(day)}T23:59:59+01:00`,
  '1990-01-05 00:00:00': (day) => `${iso(day)} 00:00:00`,
  '05-Jan-1990': toHyphenatedDay,
  '05-JAN-1990': (day) => toHyphenatedDay(day).toUpperCase(),
  '5 January 1990': (day) => `${day.day} ${toLongDay(day).split(' ')[0]} ${day.year}`,
  'January 5, 1990': toLongDay,
  'January 5 1990': (day) => withoutComma(toLongDay(day)),
  'Jan 5, 1990': toShortDay,
  'jan 5, 1990': (day) => toShortDay(day).toLowerCase(),
}

describe('a date is read in the spelling', () => {
  it.each(Object.entries(SPELLINGS))('%s', (example, spell) => {
    expect(spell(FIFTH_OF_JANUARY)).toBe(example)
    fc.assert(
      fc.property(days, (day) => {
        expect(readDay(spell(day), NOW)).toEqual(day)
      }),
    )
  })

  it.each(['05-JAN-90', '5/1/90', '5-Jan-90', '5th January 1990', '5th Jan, 1990'])('%s', (text) => {
    expect(readDay(text, NOW)).toEqual(FIFTH_OF_JANUARY)
  })
})

describe('two digits of a year', () => {
  it('belong to this century up to the current year, and otherwise to the last one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99 }), (year) => {
        const expected = year > 26 ? 1900 + year : 2000 + year
        expect(readDay(`05-Jan-${pad(year)}`, NOW)?.year).toBe(expected)
      }),
    )
  })
})

describe('an invalid date', () => {
  it.each([
    '31-02-1990',
    '29-02-1900',
    '00-01-1990',
    '05-13-1990',
    '1990-00-05',
    '05-Foo-1990',
    '05-01-1899',
    '16-06-2027',
    '05-01/1990',
    '5 1990',
    '19900105',
    'yesterday',
    '05-01-1990 or so',
  ])('%s', (text) => expect(readDay(text, NOW)).toBeUndefined())

  it('is never read as a date: every date that is read can be written and read again', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9A-Za-z ,./-]{0,16}$/), (text) => {
        const day = readDay(text, NOW)
        if (day) expect(readDay(toNumericDay(day), NOW)).toEqual(day)
      }),
    )
  })
})
