import { expect, it } from 'vitest'
import { toDaysLeft, toGrowth } from '../../src/context/storage-report.ts'

const toHistory = (...sizes: number[]) => sizes.map((bytes, day) => ({ day, bytes }))

it('growth is the median of the days', () => {
  expect(toGrowth([])).toBe(undefined)
  expect(toGrowth(toHistory(100))).toBe(undefined)
  expect(toGrowth(toHistory(100, 110))).toBe(10)
  expect(toGrowth(toHistory(100, 110, 140))).toBe(20)
  // An archive makes the database smaller once.
  expect(toGrowth(toHistory(100, 110, 20, 30, 40))).toBe(10)
})

it('days without a measurement are counted', () => {
  expect(
    toGrowth([
      { day: 0, bytes: 100 },
      { day: 5, bytes: 150 },
    ]),
  ).toBe(10)
})

it('a database that does not grow fills no disk', () => {
  expect(toDaysLeft(1000, 10)).toBe(100)
  expect(toDaysLeft(1005, 10)).toBe(100)
  expect(toDaysLeft(1000, 0)).toBe(undefined)
  expect(toDaysLeft(1000, -5)).toBe(undefined)
  expect(toDaysLeft(1000, undefined)).toBe(undefined)
})
