import { describe, expect, it } from 'vitest'
import type { Batch } from '../../src/batches/batch.ts'
import { toBatchView } from '../../src/batches/batch-view.ts'

const NOW = Date.parse('2026-11-16T12:00:00.000Z')
const MINUTE_MS = 60_000

const BATCH: Batch = {
  id: 'bat_1',
  keyId: 'k3JbvwRd',
  lineage: 'k3JbvwRd',
  mode: 'live',
  state: 'running',
  createdAt: NOW - 90 * MINUTE_MS,
  acceptedAt: NOW - 90 * MINUTE_MS,
  endedAt: undefined,
  pacedUntil: NOW,
  now: NOW,
  mark: undefined,
  rowsAhead: 0,
  running: [],
  rows: 1000,
  refused: 0,
  fed: 100,
  ends: { verified: 0, not_verified: 0, failed: 0, expired: 0, cancelled: 0 },
}
const minutesLeft = (values: Partial<Batch>) => {
  const { estimated_end } = toBatchView({ ...BATCH, ...values }, { rowsPerMinute: 100, keepMs: 1 })
  return (Date.parse(estimated_end ?? '') - NOW) / MINUTE_MS
}
const ends = (verified: number) => ({ ...BATCH.ends, verified })

describe('the estimated end of a batch', () => {
  it('follows the allowed rate, after the rows of earlier batches', () => {
    expect(minutesLeft({})).toBe(9)
    expect(minutesLeft({ rowsAhead: 300 })).toBe(12)
  })

  it('does not count the time that the batch waited before its first row', () => {
    const mark = { at: NOW - MINUTE_MS, ended: 0 }
    expect(minutesLeft({ ends: ends(100), mark })).toBe(9)
  })

  it('follows the rate of the last minutes, if sources are slower than the allowed rate', () => {
    const mark = { at: NOW - 2 * MINUTE_MS, ended: 80 }
    expect(minutesLeft({ ends: ends(100), mark })).toBe(90)
  })

  it('counts the rows of other keys that take turns with its own, while they wait for places', () => {
    const other = { lineage: 'other', rows: 5000, perMs: 10 / MINUTE_MS, isLate: true }
    const rows = { rows: 20, fed: 20, pacedUntil: NOW }
    expect(minutesLeft({ ...rows, running: [other] })).toBe(4)
    // Of a key with fewer rows, only those; two batches of one key take one turn.
    expect(minutesLeft({ ...rows, running: [{ ...other, rows: 5 }] })).toBe(2.5)
    const two = [
      { ...other, perMs: other.perMs / 2 },
      { ...other, perMs: other.perMs / 2 },
    ]
    expect(minutesLeft({ ...rows, running: two })).toBe(4)
    // What is not late takes no places from it, and nothing is known of a rate of 0.
    expect(minutesLeft({ ...rows, running: [{ ...other, isLate: false }] })).toBe(0)
    expect(minutesLeft({ ...rows, running: [{ ...other, perMs: 0 }] })).toBe(0)
  })

  it('is later the longer no row ends', () => {
    const mark = { at: NOW - 30 * MINUTE_MS, ended: 80 }
    expect(minutesLeft({ ends: ends(100), mark })).toBe(1350)
  })
})
