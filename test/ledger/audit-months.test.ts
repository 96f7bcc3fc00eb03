import { describe, expect, it } from 'vitest'
import {
  createMonthTable,
  endOf,
  monthOf,
  partitionOf,
  startOf,
  toMonth,
} from '../../src/ledger/audit-months.ts'

describe('the month of a chain', () => {
  it.each([
    [Date.UTC(2026, 10, 1), 'y2026m11'],
    [Date.UTC(2026, 10, 30, 23, 59, 59, 999), 'y2026m11'],
    [Date.UTC(2026, 11, 1), 'y2026m12'],
    [Date.UTC(2027, 0, 31), 'y2027m01'],
  ])('that is begun at %i is %s', (at, month) => {
    expect(toMonth(at)).toBe(month)
    expect(monthOf(`${month}-3f9a1c5e-1`)).toBe(month)
    expect(partitionOf(`${month}-3f9a1c5e-1`)).toBe(`audit_${month}`)
    expect([startOf(month) <= at, at < endOf(month)]).toEqual([true, true])
  })

  it('has a next one, also over the end of the year and from the 31st', () => {
    expect([0, 1, 2].map((later) => toMonth(Date.UTC(2026, 11, 31), later))).toEqual([
      'y2026m12',
      'y2027m01',
      'y2027m02',
    ])
    expect(endOf('y2026m12')).toBe(Date.UTC(2027, 0, 1))
    expect(startOf('y2027m01')).toBe(Date.UTC(2027, 0, 1))
  })

  it.each(['node-1', 'y2026m11', 'y2026m00-a', 'y2026m13-a', 'y202m11-a', 'xy2026m11-a', 'y2026m1-a'])(
    'is not known of %s',
    (chain) => {
      expect(monthOf(chain)).toBeUndefined()
      expect(partitionOf(chain)).toBe('audit_undated')
    },
  )

  it('needs no preparation on SQLite', async () => {
    const table = createMonthTable({ dialect: 'sqlite' } as never)
    expect(await table.openMonth(Date.UTC(2026, 10, 17))).toBe('y2026m11')
    expect(await table.prepareMonths(0)).toBeUndefined()
  })
})
