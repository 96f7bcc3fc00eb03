import { describe, expect, it } from 'vitest'
import { readSince, readUntil } from '../../src/cli/options.ts'

describe('a date', () => {
  it('begins with its first moment and ends with its last one', () => {
    expect(readSince('2026-11-30')).toBe('2026-11-30T00:00:00.000Z')
    expect(readUntil('2026-11-30')).toBe('2026-11-30T23:59:59.999Z')
  })

  it.each(['2026-02-30', '2026-02-30T10:00Z', '2026-13-01', '5', '2026', 'Nov 2026', '30.11.2026', ''])(
    'is not %j, which another reader would take for some day',
    (text) => {
      for (const read of [readSince, readUntil]) expect(() => read(text)).toThrow(/^Give a date such as/)
    },
  )
})

it.each([
  ['2026-11-30T09:30Z', '2026-11-30T09:30:00.000Z'],
  ['2026-11-30T09:30:15.250+01:00', '2026-11-30T08:30:15.250Z'],
])('the time %s is the same for both', (text, time) => {
  expect([readSince(text), readUntil(text)]).toEqual([time, time])
})

it('an age is that long ago', () => {
  const before = Date.now()
  const at = Date.parse(readUntil('6h')) + 6 * 3_600_000
  expect(at - before).toBeGreaterThanOrEqual(0)
  expect(readSince('6h') <= readSince('5h')).toBe(true)
})
