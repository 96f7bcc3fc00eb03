import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  DAY_MS,
  HOUR_MS,
  readDuration,
  readLagosTime,
  secondsToLagosMidnight,
  steadyNow,
  toLagosDate,
  toLagosDay,
} from '../../src/contract/time.ts'

const instant = fc
  .date({ min: new Date('1970-01-01'), max: new Date('2199-12-31'), noInvalidDate: true })
  .map((date) => date.getTime())

describe('the day in Lagos', () => {
  it('begins at 23:00 UTC', () => {
    const midnight = Date.parse('2026-11-14T23:00:00Z')
    expect([midnight - 1, midnight].map(toLagosDate)).toEqual(['2026-11-14', '2026-11-15'])
    expect(toLagosDay(midnight) - toLagosDay(midnight - 1)).toBe(1)
    expect([midnight - 1, midnight].map(secondsToLagosMidnight)).toEqual([1, 86_400])
  })

  it('has the date that the time zone Africa/Lagos gives', () => {
    const format = new Intl.DateTimeFormat('en-CA', { timeZone: 'Africa/Lagos', dateStyle: 'short' })
    fc.assert(fc.property(instant, (at) => toLagosDate(at) === format.format(at)))
  })

  it('has one number and one date', () => {
    fc.assert(fc.property(instant, (at) => Date.parse(toLagosDate(at)) === toLagosDay(at) * DAY_MS))
  })

  it('ends after the seconds that are left, and not a second earlier', () => {
    fc.assert(
      fc.property(instant, (at) => {
        const left = secondsToLagosMidnight(at)
        expect(left).toBeGreaterThanOrEqual(1)
        expect(left).toBeLessThanOrEqual(86_400)
        expect(toLagosDay(at + left * 1000)).toBe(toLagosDay(at) + 1)
        expect(toLagosDay(at + (left - 1) * 1000)).toBe(toLagosDay(at))
      }),
    )
  })
})

describe('readLagosTime', () => {
  it('reads the start of the day that toLagosDate names', () => {
    fc.assert(
      fc.property(instant, (at) => {
        const start = readLagosTime(`${toLagosDate(at)}T00:00:00`)
        expect(start).toBeLessThanOrEqual(at)
        expect(at - start).toBeLessThan(DAY_MS)
        expect(toLagosDay(start)).toBe(toLagosDay(at))
      }),
    )
  })

  it('gives NaN for what is no time', () => {
    expect(readLagosTime('soon')).toBeNaN()
  })
})

describe('readDuration', () => {
  const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 }
  const unit = fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[]))

  it('reads a count of up to six digits and a unit', () => {
    fc.assert(
      fc.property(
        fc.nat(999_999),
        unit,
        (count, name) => readDuration(`${count}${name}`) === count * units[name],
      ),
    )
  })

  it('reads nothing else', () => {
    const other = fc.string().filter((text) => !/^\d{1,6}[smhdwy]$/.test(text))
    fc.assert(fc.property(other, (text) => readDuration(text) === undefined))
    for (const text of ['', '5', 'd', '1000000s', '-1d', '1.5h', ' 1h', '1h ', '1H', '1h30m', '1h\n', '１h'])
      expect(readDuration(text), text).toBeUndefined()
  })
})

describe('steadyNow', () => {
  it('does not follow the clock back', () => {
    const now = Date.now
    const before = steadyNow()
    try {
      Date.now = () => now() - HOUR_MS
      expect(steadyNow()).toBeGreaterThanOrEqual(before - 1)
      Date.now = () => now() + HOUR_MS
      expect(steadyNow()).toBeGreaterThanOrEqual(before + HOUR_MS)
    } finally {
      Date.now = now
    }
  })
})
