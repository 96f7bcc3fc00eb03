import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readDay, toHyphenatedDay, toLongDay, toNumericDay, toShortDay } from '../../src/contract/time.ts'

const now = new Date('2026-11-15T00:00:00Z')
const anyDay = fc
  .date({ min: new Date('1901-01-01'), max: new Date('2026-11-14'), noInvalidDate: true })
  .map((date) => ({ year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }))

describe('a day', () => {
  it('is read from every spelling in which it is written', () => {
    fc.assert(
      fc.property(anyDay, (day) => {
        const { year, month, day: number } = day
        const iso = `${year}-${String(month).padStart(2, '0')}-${String(number).padStart(2, '0')}`
        const [short, long] = [toShortDay(day), toLongDay(day)]
        const spellings = [
          toNumericDay(day),
          `${number}/${month}/${year}`,
          iso,
          `${iso}T00:00:00.000Z`,
          toHyphenatedDay(day),
          toHyphenatedDay(day).toUpperCase(),
          short,
          long,
          `${number} ${long.split(' ')[0]} ${year}`,
        ]
        for (const spelling of spellings) expect(readDay(spelling, now), spelling).toEqual(day)
      }),
    )
  })

  it('of a two-digit year lies in the past', () => {
    expect(readDay('28-Jun-00', now)).toEqual({ year: 2000, month: 6, day: 28 })
    expect(readDay('05-JAN-90', now)).toEqual({ year: 1990, month: 1, day: 5 })
    expect(readDay('05-01-27', now)).toEqual({ year: 1927, month: 1, day: 5 })
  })

  it.each([
    ['1990-01-04T23:00:00.000Z', 5],
    ['1990-01-04T23:00Z', 5],
    ['1990-01-04 23:30:59+00:00', 5],
    ['1990-01-04T22:59:59.999Z', 4],
    ['1990-01-05T00:00:00.000Z', 5],
    ['1990-01-05T00:00:00+01:00', 5],
    ['1990-01-05T00:30:00.000+0200', 4],
    ['1990-01-04T20:00:00-05', 5],
    ['1990-01-04T23:00:00.000', 4],
    ['1990-01-04 23:00:00', 4],
  ])('reads the time %s as a day in Lagos', (text, day) => {
    expect(readDay(text, now)).toEqual({ year: 1990, month: 1, day })
  })

  it.each([
    '31-02-1990',
    '00-01-1990',
    '1990-13-01',
    '01/13/1990',
    'soon',
    '5-Foo-1990',
    '29-02-1991',
    '1-1-3000',
    '',
  ])('that does not exist is refused: %j', (text) => {
    expect(readDay(text, now)).toBeUndefined()
  })

  it('is written in the ways of the contract', () => {
    const day = { year: 1990, month: 1, day: 5 }
    expect([toNumericDay(day), toShortDay(day), toHyphenatedDay(day), toLongDay(day)]).toEqual([
      '05-01-1990',
      'Jan 5, 1990',
      '05-Jan-1990',
      'January 5, 1990',
    ])
  })
})
