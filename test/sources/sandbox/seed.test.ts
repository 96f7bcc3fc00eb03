import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  pickDate,
  toDate,
  toHyphenatedDate,
  toLongDate,
  toNumericDate,
  toShortDate,
} from '../../../src/sources/sandbox/person.ts'
import { Seed } from '../../../src/sources/sandbox/seed.ts'

const draw = (kind: string, number: string, part: string) => {
  const seed = new Seed(kind, number, part)
  return Array.from({ length: 40 }, () => seed.between(0, 1_000_000))
}

test('the same kind, number and part give the same series', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (number, part) => {
      expect(draw('nin', number, part)).toEqual(draw('nin', number, part))
    }),
  )
})

test('the kind, the number and the part each change the series', () => {
  const series = [
    draw('nin', '1', 'name'),
    draw('bvn', '1', 'name'),
    draw('nin', '2', 'name'),
    draw('nin', '1', 'home'),
  ]
  expect(new Set(series.map(String)).size).toBe(4)
})

test('values are those of the first release', () => {
  const seed = new Seed('nin', '12345678901', 'name')
  expect([seed.digits(8), seed.between(1, 100), seed.pick(['a', 'b', 'c'])]).toEqual(['62861109', 76, 'b'])
})

test('values stay between both ends, and reach both', () => {
  const seed = new Seed('nin', '12345678901', 'range')
  const values = new Set(Array.from({ length: 200 }, () => seed.between(3, 6)))
  expect([...values].sort()).toEqual([3, 4, 5, 6])
})

test('dates are written in the four ways of the contract', () => {
  const date = toDate(1990, 1, 5)
  expect(toNumericDate(date)).toBe('05-01-1990')
  expect(toHyphenatedDate(date)).toBe('05-Jan-1990')
  expect(toShortDate(date)).toBe('Jan 5, 1990')
  expect(toLongDate(date)).toBe('January 5, 1990')
})

test('a picked date may be any day of the range, the last one included', () => {
  const seed = new Seed('nin', '12345678901', 'dates')
  const days = new Set(
    Array.from({ length: 100 }, () => toNumericDate(pickDate(seed, toDate(2004, 2, 27), toDate(2004, 3, 1)))),
  )
  expect([...days].sort()).toEqual(['01-03-2004', '27-02-2004', '28-02-2004', '29-02-2004'])
})
