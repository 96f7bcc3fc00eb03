import { describe, expect, it } from 'vitest'
import { createProgressLine, toTime } from '../../../src/registry/import/progress-line.ts'

const at = (records: number, offset: number) => ({
  records,
  offset,
  line: 1,
  changed: 0,
  rejected: 0,
  rejectedBytes: 0,
})

/** The output while a quarter of the file is read per step. */
function watch(screen: { readonly isTTY?: boolean }, stepMs: number, size: number | undefined): string[] {
  const written: string[] = []
  let now = 0
  const line = createProgressLine({ ...screen, write: (text) => written.push(text) }, size, () => now)
  for (let step = 0; step <= 4; step++) {
    line.show(at(step * 2500, step * 1000))
    now += stepMs
  }
  line.clear()
  return written
}

describe('the progress of an import', () => {
  it('is one line on a terminal, which is cleared at the end', () => {
    const written = watch({ isTTY: true }, 1000, 4000)
    expect(written).toEqual([
      '\r\u001b[2K██████░░░░░░░░░░░░░░░░░░ 25 %, 2 500 rows, 2 500 rows/s, 3 s left',
      '\r\u001b[2K████████████░░░░░░░░░░░░ 50 %, 5 000 rows, 2 500 rows/s, 2 s left',
      '\r\u001b[2K██████████████████░░░░░░ 75 %, 7 500 rows, 2 500 rows/s, 1 s left',
      '\r\u001b[2K████████████████████████ 100 %, 10 000 rows, 2 500 rows/s, 0 s left',
      '\r\u001b[2K',
    ])
  })

  it('is a plain line every five seconds without a terminal', () => {
    expect(watch({}, 2500, 4000)).toEqual([
      '50 %, 5 000 rows, 1 000 rows/s, 5 s left\n',
      '100 %, 10 000 rows, 1 000 rows/s, 0 s left\n',
    ])
  })

  it('has no percentage without a size', () => {
    expect(watch({}, 5000, undefined)[0]).toBe('2 500 rows, 500 rows/s\n')
  })

  it.each([
    [45, '45 s'],
    [200, '3 min 20 s'],
    [7500, '2 h 5 min'],
  ])('formats %d s', (seconds, text) => expect(toTime(seconds)).toBe(text))
})
